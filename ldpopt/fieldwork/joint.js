// Draws joint reports of answers to yes/no questions; it needs draw.js, and adds what it draws to it.

import { LAWS, TOTAL, below, isWhole } from "./draw.js";

/** `size` different numbers below `count`, in random order. */
function drawOrder(count, size, words) {
  const found = [];
  for (let drawn = 0; drawn < size; drawn++) {
    let place = below(count - drawn, words);
    for (const earlier of [...found].sort((a, b) => a - b)) place += place >= earlier;
    found.push(place);
  }
  return found;
}

/** Numbers of patterns by their agreements with the truth: a row of Pascal's triangle. */
function binomials(size) {
  let row = [1];
  while (row.length <= size) row = [1, ...row.slice(1).map((number, place) => number + row[place]), 1];
  return row;
}

/** Answers to random questions: at least `least` of them are true with probability `mass / 2**53`. */
function choosePattern({ questions, size, least, mass }, codes, words) {
  const places = drawOrder(questions, size, words).sort((a, b) => a - b), numbers = binomials(size);
  const isClose = words(1)[0] < mass;
  const range = isClose ? numbers.slice(least) : numbers.slice(0, least);
  let pattern = below(range.reduce((sum, number) => sum + number), words), agreements = 0;
  while (pattern >= range[agreements]) pattern -= range[agreements++];
  if (isClose) agreements += least;
  const agreeing = drawOrder(size, size, words).slice(0, agreements);
  return places.map((question, place) => 2 * question + (agreeing.includes(place) ? codes[question] : 1 - codes[question]));
}

LAWS.patterns = {
  isSound: ({ patterns }, counts) => patterns.questions === counts.length && counts.every((count) => count === 2)
    && isWhole(patterns.size, 1, Math.min(53, counts.length)) && isWhole(patterns.least, 1, patterns.size)
    && isWhole(patterns.mass, 0, TOTAL),
  choose: ({ patterns }, codes, words) => choosePattern(patterns, codes, words).join(" "),
};
