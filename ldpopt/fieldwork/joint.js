// Draws the joint report of a form of ldpopt, one on the answers to all questions together; it needs draw.js.

import { TOTAL, draw, requireQuestion, secureWords } from "./draw.js";

/** A whole number below `end`: a word modulo it; words in the last, incomplete period are drawn again. */
function below(end, words) {
  for (;;) {
    const word = words(1)[0];
    if (word < TOTAL - (TOTAL % end)) return word % end;
  }
}

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

/** Refuse a form that this module cannot draw. */
export function requireJoint({ format, scheme, questions, joint }) {
  const isWhole = (number, least, most) => Number.isInteger(number) && least <= number && number <= most;
  const counts = joint.order.map((name) => questions[name].answers.length), { patterns } = joint;
  const all = counts.reduce((product, count) => product * count, 1);
  const isSampler = !patterns || (patterns.questions === counts.length && counts.every((count) => count === 2)
    && isWhole(patterns.size, 1, Math.min(53, counts.length)) && isWhole(patterns.least, 1, patterns.size)
    && isWhole(patterns.mass, 0, TOTAL));
  if (format !== "ldpopt form 1" || scheme !== "joint" || counts.length !== Object.keys(questions).length || !isSampler)
    throw new Error("this is not a form with a joint report");
  if (!patterns) requireQuestion(joint.column, { ...joint, answers: { length: all } });
}

/** The joint report by its column; null where an answer is missing that may be. */
export function drawJoint(form, answers, words = secureWords) {
  requireJoint(form);
  const { joint, questions } = form, given = new Map(Object.entries(answers));
  const codes = joint.order.map((name) => {
    const question = questions[name], answer = given.get(name) ?? question.missing_answer;
    if (answer === null && question.missing === "refuse") throw new Error(`question ${name} has no answer`);
    if (answer !== null && !question.answers.includes(answer)) throw new Error("this is not one of the answers");
    return question.answers.indexOf(answer);
  });
  if (codes.includes(-1)) return { [joint.column]: null };
  if (joint.patterns) return { [joint.column]: choosePattern(joint.patterns, codes, words).join(" ") };
  const combination = codes.reduce((sum, code, place) => sum * questions[joint.order[place]].answers.length + code, 0);
  return { [joint.column]: draw({ ...joint, answers: [...joint.masses.keys()] }, combination, words) };
}
