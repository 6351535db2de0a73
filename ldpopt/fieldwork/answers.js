// What a person has answered so far, and what is still open: nothing here touches the page.
// A value is the text of an answer, "" for a question that is left out, a list of ticks, or { typed } or { declined } of a number.

const NONE = "none";  // the answer of whoever ticks nothing

/** The whole number that somebody typed, as text; null if it is none of the numbers. Digits only, and never another number. */
export function numberOf(typed, { least, most, step = 1 }) {
  const number = /^\s*[0-9]{1,9}\s*$/.test(typed) ? Number(typed) : NaN;
  return least <= number && number <= most && (number - least) % step === 0 ? String(number) : null;
}

/** Whether the number of a question is typed; a number in classes is a choice. */
export const isTyped = ({ number }) => number !== undefined && number.starts === undefined;

/** The first and the last number of each class. */
export const boundsOf = ({ starts, most }) =>
  starts.map((start, place) => ({ least: start, most: place + 1 < starts.length ? starts[place + 1] - 1 : most }));

/** Ticks after one more of them changed: "none" and "no answer" exclude the others, and each other. */
export function ticked({ missing_answer }, ticks, tick, isOn) {
  const others = ticks.filter((other) => other !== tick), alone = [NONE, missing_answer];
  if (!isOn) return others;
  return alone.includes(tick) ? [tick] : [...others.filter((other) => !alone.includes(other)), tick];
}

/** The answer of a value as the form has it; null where there is none. */
export function answerFrom(question, value) {
  if (value === undefined) return null;
  if (isTyped(question)) return value.declined ? question.missing_answer : numberOf(value.typed, question.number);
  if (!question.ticks) return value === "" ? null : value;
  const alone = [NONE, question.missing_answer].find((one) => value.includes(one));
  return alone ?? (value.length ? question.ticks.filter((tick) => value.includes(tick)).join(";") : null);
}

/** What is wrong with a value: "open", "range" of a number that is none of the numbers, or null. */
export function problemOf(question, value) {
  if (answerFrom(question, value) !== null) return null;
  if (isTyped(question) && value?.typed?.trim()) return "range";
  return question.missing === "refuse" ? "open" : null;
}

/** Forget the answers to questions that are not asked. */
export function forgetHidden(isAsked, values) {
  for (const name of [...values.keys()]) if (isAsked[name] !== true) values.delete(name);
}

/**
 * The questions as they are asked, each with a key of its own: one that is repeated comes once more at the end, from the last
 * to the first, and alone where it was in a table.
 */
export function asTheyAreAsked(questions) {
  const again = questions.filter(({ repeat }) => repeat !== undefined).reverse();
  return [...questions.map((question) => ({ ...question, key: question.name })), ...again.map((question) =>
    ({ ...question, key: `${question.name} again`, isAgain: true, section: undefined, matrix: undefined, table: question.matrix }))];
}

/** The answers by question, from those by key: two to one that is repeated. */
export function answersByName(questions, answerTo) {
  const found = {};
  for (const question of questions) {
    const { name, repeat } = question, answer = answerTo(question);
    found[name] = repeat === undefined ? answer : [...(found[name] ?? []), answer];
  }
  return found;
}

/** The questions by page: another section begins one, and so do those that are asked again. */
export function pagesOf(questions) {
  const pages = [];
  let section = null;
  for (const question of questions) {
    const isOther = (question.section ?? section) !== section || (question.isAgain && !pages.at(-1)?.[0].isAgain);
    if (pages.length === 0 || isOther) pages.push([]);
    section = question.section ?? section;
    pages.at(-1).push(question);
  }
  return pages;
}

/** Questions one below the other: the rows of a matrix together, any other alone. */
export function blocksOf(questions) {
  const blocks = [];
  for (const question of questions) {
    if (question.matrix && blocks.at(-1)?.[0].matrix === question.matrix) blocks.at(-1).push(question);
    else blocks.push([question]);
  }
  return blocks;
}
