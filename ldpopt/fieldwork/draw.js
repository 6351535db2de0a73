// Draws the reports of a form of ldpopt (format "ldpopt form 1") on the device where the answers are given.
// A module without dependencies. All numbers are whole and at most 2**53, so that doubles hold them exactly.

export const TOTAL = 2 ** 53;  // the sum of the masses of an answer: its probabilities are masses / 2**53
const FORMAT = "ldpopt form 1", SCHEMES = ["split", "one_question", "fake_data"];

/** Uniform words below 2**53 from the secure generator of the browser or of node. */
export function secureWords(count) {
  const bytes = new DataView(new ArrayBuffer(8 * count));
  for (let start = 0; start < bytes.byteLength; start += 65536)  // the most that one call may ask for
    crypto.getRandomValues(new Uint8Array(bytes.buffer, start, Math.min(65536, bytes.byteLength - start)));
  return wordsOf(bytes);
}

/** The upper 53 bits of each eight bytes, the low byte first: in numpy, `frombuffer(bytes, "<u8") >> 11`. */
export function wordsOf(bytes) {
  return Array.from({ length: bytes.byteLength / 8 }, (_, i) =>
    bytes.getUint32(8 * i + 4, true) * 2 ** 21 + (bytes.getUint32(8 * i, true) >>> 11));
}

/** Position of a report: how many of the sums of the masses are at most the word. Every mass is read. */
function chooseReport(masses, word) {
  let sum = 0, report = 0;
  for (const mass of masses) {
    sum += mass;
    report += sum <= word;
  }
  return report;
}

/** `size` of `count` positions, ascending: `own` is one of them with probability `mass / 2**53`. */
function chooseSet({ count, size, mass }, own, words) {
  const ownKey = words(1)[0] < mass ? -1 : TOTAL;  // below or above all other keys
  for (;;) {
    const keys = words(count);
    keys[own] = ownKey;
    const order = [...keys.keys()].sort((a, b) => keys[a] - keys[b]);
    // Equal keys at the border would favor some positions: the keys are drawn again.
    if (keys[order[size - 1]] < keys[order[size]]) return order.slice(0, size).sort((a, b) => a - b);
  }
}

/** A whole number below `count`, uniform up to 2**-53. */
function uniform(count, words) {
  return Number((BigInt(words(1)[0]) * BigInt(count)) >> 53n);
}

/** Refuse masses that are not those of a mechanism: a damaged form must not draw. */
export function requireQuestion(name, { answers, masses, reports, set }) {
  const isWhole = (number, least, most) => Number.isInteger(number) && least <= number && number <= most;
  const isRow = (row) => row.length === reports.length && row.every((mass) => isWhole(mass, 0, TOTAL))
    && row.reduce((sum, mass) => sum + BigInt(mass), 0n) === BigInt(TOTAL);
  const isSampler = set
    ? set.count === answers.length && isWhole(set.size, 1, set.count - 1) && isWhole(set.mass, 0, TOTAL)
    : masses.length === answers.length && masses.every(isRow);
  if (!isSampler) throw new Error(`question ${name}: these are not the masses of a mechanism`);
}

/** Refuse a form that this module cannot draw. */
export function requireForm(form) {
  if (form.format !== FORMAT || !SCHEMES.includes(form.scheme))
    throw new Error(`the form is "${form.format}" with the scheme "${form.scheme}", which this module does not draw`);
  for (const [name, question] of Object.entries(form.questions)) requireQuestion(name, question);
}

/** The report of an answer, as the text that a table of reports has. */
export function draw(question, answer, words = secureWords) {
  const code = question.answers.indexOf(answer);
  if (code < 0) throw new Error("this is not one of the answers");
  if (question.set) return chooseSet(question.set, code, words).join(" ");
  return question.reports[chooseReport(question.masses[code], words(1)[0])];
}

/** The report of an answer that is drawn at random. */
function drawFake(question, words) {
  return draw(question, question.answers[uniform(question.answers.length, words)], words);
}

/** The names of the questions that a person is asked: all, or the one that is drawn. */
export function asked(form, words = secureWords) {
  const names = Object.keys(form.questions);
  return form.scheme === "one_question" ? [names[uniform(names.length, words)]] : names;
}

/** The reports on all questions by name; null where there is none. `answers` has the text of each answer, or null. */
export function drawAll(form, answers, names = asked(form), words = secureWords) {
  requireForm(form);
  const every = Object.keys(form.questions), given = new Map(Object.entries(answers));
  const drawn = form.scheme === "fake_data" ? [every[uniform(every.length, words)]] : names;
  return Object.fromEntries(every.map((name) => {
    const question = form.questions[name], answer = given.get(name) ?? question.missing_answer;
    if (names.includes(name) && answer === null && question.missing === "refuse")
      throw new Error(`question ${name} has no answer`);
    if (!drawn.includes(name)) return [name, form.scheme === "fake_data" ? drawFake(question, words) : null];
    return [name, answer === null ? null : draw(question, answer, words)];
  }));
}
