// Draws the reports of a form of ldpopt (format "ldpopt form 2") on the device where the answers are given.
// A module without dependencies. All numbers are whole and at most 2**53, so that doubles hold them exactly.

export const TOTAL = 2 ** 53;  // the sum of the masses of an answer: its probabilities are masses / 2**53
const FORMAT = "ldpopt form 2", SCHEMES = ["split", "one_question", "fake_data", "joint"];
const MISSING = -1, SEPARATOR = ";";  // the code of no answer; what is between the ticks of an answer

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

/** A whole number below `end`: a word modulo it; words in the last, incomplete period are drawn again. */
export function below(end, words) {
  for (;;) {
    const word = words(1)[0];
    if (word < TOTAL - (TOTAL % end)) return word % end;
  }
}

export const isWhole = (number, least, most) => Number.isInteger(number) && least <= number && number <= most;

/** What draws a report, by the key of a column that has it; joint.js adds "patterns". `counts` are the numbers of answers. */
export const LAWS = {
  masses: {
    isSound: ({ masses, reports }, counts, rows) => masses.length === rows && masses.every((row) =>
      row.length === reports.length && row.every((mass) => isWhole(mass, 0, TOTAL))
      && row.reduce((sum, mass) => sum + BigInt(mass), 0n) === BigInt(TOTAL)),
    choose: ({ masses, reports }, row, words) => reports[chooseReport(masses[row], words(1)[0])],
    rows: ({ masses }) => masses.length,
  },
  set: {
    isSound: ({ set }, counts, rows) =>
      set.count === rows && isWhole(set.size, 1, set.count - 1) && isWhole(set.mass, 0, TOTAL),
    choose: ({ set }, row, words) => chooseSet(set, row, words).join(" "),
    rows: ({ set }) => set.count,
  },
};
const lawOf = (column) => LAWS[Object.keys(LAWS).find((key) => column[key])];

/** Whether a text is a number of a question, in digits without leading zeros. */
function isNumber({ number }, text) {
  if (!number || !/^(0|[1-9][0-9]{0,8})$/.test(text)) return false;
  const { least, most, step } = number;  // classes have no least: of them the text is an answer
  return isWhole(Number(text), least, most) && (text - least) % step === 0;
}

/** The points to which a column rounds the numbers of one of its questions; undefined where it rounds none. */
const gridOf = ({ of, grid, grids = {} }, name) => (of.length === 1 ? grid : grids[name]);

/** One of the two points around a number, at random, so that their mean is the number. */
function roundedPlace(points, number, words) {
  const lower = Math.min(points.filter((point) => point <= number).length, points.length - 1) - 1;
  return lower + (below(points[lower + 1] - points[lower], words) < number - points[lower]);
}

/** The code of an answer: its place among the answers, which come after the points of a grid; null where there is none. */
function codeOf({ answers }, points, answer, words) {
  if (answer === undefined || answer === null) return answer === null ? MISSING : null;
  const code = answers.indexOf(answer);
  return points && code < 0 ? roundedPlace(points, Number(answer), words) : code + (points?.length ?? 0);
}

/** Refuse a column that is not of a mechanism: a damaged form must not draw. */
export function requireColumn(name, column, questions) {
  const { of, paths, patterns } = column, grids = of.map((one) => gridOf(column, one));
  const counts = of.map((one, place) => questions[one].answers.length + (grids[place]?.length ?? 0));
  const isGrid = (points, place) => points === undefined || (points.length > 1
    && points.every((point, k) => isNumber(questions[of[place]], `${point}`) && (k === 0 || points[k - 1] < point))
    && points[0] === questions[of[place]].number.least && points.at(-1) === questions[of[place]].number.most);
  const isPath = (path) => path.length === of.length
    && path.every((code, place) => code === null || isWhole(code, 0, counts[place] - 1));
  const isRead = paths ? paths.every(isPath) && new Set(paths.map(String)).size === paths.length : patterns || of.length === 1;
  if (!isRead || !grids.every(isGrid) || !lawOf(column)?.isSound(column, counts, paths ? paths.length : counts[0]))
    throw new Error(`column ${name}: these are not the masses of a mechanism`);
}

/** The form of the people with a choice of an epsilon: each column has the masses of this choice alone. */
export function chosenForm(form, choice) {
  if (form.choices === undefined) return form;
  const columns = Object.entries(form.columns).map(([name, { chosen, ...column }]) => [name, { ...column, ...chosen[choice] }]);
  return { ...form, choices: undefined, columns: Object.fromEntries(columns) };
}

/** Refuse a form that this module cannot draw. */
export function requireForm(form) {
  const { format, scheme, questions, columns } = form;
  if (format !== FORMAT || !SCHEMES.includes(scheme))
    throw new Error(`the form is "${format}" with the scheme "${scheme}", which this module does not draw`);
  const names = Object.keys(questions), read = Object.values(columns).flatMap(({ of }) => of);
  const isKnown = (question) => [question.not_asked, question.otherwise].every((text) =>
    text === undefined || question.answers.includes(text) || isNumber(question, text));
  if (read.length !== names.length || !names.every((name) => read.includes(name)) || !Object.values(questions).every(isKnown))
    throw new Error("the form has a question in no column or in two, or fills in what is no answer");
  const gates = Object.values(questions).flatMap(({ only_if }) => Object.keys(only_if ?? {}));
  const isTwice = ([name, { answers, missing_answer, only_if, repeat, ticks }]) => answers.includes(repeat) && repeat !== missing_answer
    && !only_if && !ticks && !gates.includes(name) && String(columns[name]?.of) === name && !columns[name].grid;
  if (Object.entries(questions).some((one) => one[1].repeat !== undefined && !isTwice(one)))
    throw new Error("a question that is asked twice has a column of its own, and no other depends on it");
  applies(form, {});  // refuses conditions on questions that are not there, and circles of them
  for (const [name, column] of Object.entries(columns)) requireColumn(name, column, questions);
}

/**
 * Whether a condition on a question is true: null if the question has no answer. Where it is not asked, the answer that is
 * meant then counts; if there is none, the condition is as little true as that of the question itself.
 */
function holds({ ticks, missing_answer, otherwise }, isAsked, given, texts) {
  if (isAsked !== true && otherwise === undefined) return isAsked;
  const answer = (isAsked ? given : isAsked === false ? otherwise : null) ?? missing_answer;
  if (answer !== null && (ticks ? answer.split(SEPARATOR) : [answer]).some((one) => texts.includes(one))) return true;
  return answer === missing_answer ? null : false;
}

/**
 * Whether each question is asked after these answers, by name: true, false, or null where one that it depends on has no
 * answer and the others do not decide. A question is not asked if one that it depends on is neither asked nor has an
 * answer that is meant then.
 */
export function applies({ questions }, answers) {
  const given = new Map(Object.entries(answers)), found = new Map();
  const isAsked = (name) => {
    if (!found.has(name)) {
      const parts = Object.entries(questions[name].only_if ?? {}).map(([gate, texts]) =>
        holds(questions[gate], isAsked(gate), given.get(gate), texts));
      found.set(name, parts.includes(false) ? false : parts.includes(null) ? null : true);
    }
    return found.get(name);
  };
  return Object.fromEntries(Object.keys(questions).map((name) => [name, isAsked(name)]));
}

/** What remains of two answers to a question that is asked twice; if one of them is missing, the whole answer is. */
function commonAnswer({ answers, missing_answer, repeat }, given) {
  const pair = given ?? [null, null], [first, second] = Array.isArray(pair) ? pair.map((one) => one ?? missing_answer) : [];
  const isKnown = (one) => one === null || (one !== repeat && answers.includes(one));
  if (pair.length !== 2 || !isKnown(first) || !isKnown(second)) throw new Error("these are not two of the answers");
  if (first === second) return first;
  return [first, second].includes(missing_answer) ? missing_answer : repeat;
}

/** The text of the answer to a question; undefined where it is not asked, null where no answer may be. */
function answerOf(name, question, isAsked, given) {
  const { answers, missing, missing_answer, not_asked, otherwise, repeat } = question;
  const said = repeat === undefined ? given ?? missing_answer : commonAnswer(question, given);
  let answer = isAsked ? said : not_asked;
  if (!isAsked && otherwise !== undefined) answer = isAsked === null ? missing_answer : otherwise;
  if (answer === null && missing === "refuse") throw new Error(`question ${name} has no answer`);
  if (answer === undefined || answer === null) return answer;
  if (!(answers.includes(answer) || isNumber(question, answer)) || (isAsked && answer === not_asked))
    throw new Error("this is not one of the answers");
  return answer;
}

/** The report of answers by their codes, as the text that a table of reports has; null where one of them is missing. */
export function draw(column, codes, words = secureWords) {
  if (codes.includes(MISSING)) return null;
  const isSame = (path) => path.every((code, place) => code === codes[place]);
  const row = column.patterns ? codes : column.paths ? column.paths.findIndex(isSame) : codes[0];
  if (row === null || row === -1) throw new Error("these answers cannot be given together");
  return lawOf(column).choose(column, row, words);
}

/** The report of answers that are drawn at random. */
function drawFake(column, words) {
  const { rows, choose } = lawOf(column);
  return choose(column, uniform(rows(column), words), words);
}

/** The names of the questions of a column, and of those that decide whether they are asked. */
function neededFor({ questions, columns }, column) {
  const needed = new Set(columns[column].of);
  for (const name of needed)  // also those that are added meanwhile
    for (const gate of Object.keys(questions[name].only_if ?? {})) needed.add(gate);
  return needed;
}

/** The names of the questions on a person's page: all, or those of the column that is drawn. */
export function asked(form, words = secureWords) {
  const names = Object.keys(form.questions), columns = Object.keys(form.columns);
  if (form.scheme !== "one_question") return names;
  const needed = neededFor(form, columns[uniform(columns.length, words)]);
  return names.filter((name) => needed.has(name));
}

/** The columns that get the report of the answers. */
function drawnColumns(form, names, words) {
  const columns = Object.keys(form.columns);
  if (form.scheme === "fake_data") return [columns[uniform(columns.length, words)]];
  if (form.scheme !== "one_question") return columns;
  return columns.filter((column) => {
    const needed = neededFor(form, column);
    return needed.size === names.length && names.every((name) => needed.has(name));
  });
}

/**
 * The reports by column; null where there is none. `answers` has the text of the answer to each question on the page, or
 * null, and of one that is asked twice both; those to questions that are not asked after the others are not read.
 */
export function drawAll(form, answers, names = asked(form), words = secureWords) {
  requireForm(form);
  const given = new Map(Object.entries(answers)), isAsked = applies(form, answers);
  const found = new Map(names.map((name) => [name, answerOf(name, form.questions[name], isAsked[name], given.get(name))]));
  const drawn = drawnColumns(form, names, words);
  if (drawn.length === 0) throw new Error("these are not the questions of one page");
  return Object.fromEntries(Object.entries(form.columns).map(([name, column]) => {
    const code = (one) => codeOf(form.questions[one], gridOf(column, one), found.get(one), words);
    if (drawn.includes(name)) return [name, draw(column, column.of.map(code), words)];
    return [name, form.scheme === "fake_data" ? drawFake(column, words) : null];
  }));
}
