// What a report is and how likely, in words: the same words whatever the answer was.

const MAX_CELLS = 2000;  // largest table of percentages
const SHOWN = 6;  // most answers that a receipt names

/** A number of hundredths with two digits, as the language writes numbers; never "0" of what is possible. */
function percent(mass, words) {
  const hundredths = (100 * mass) / TOTAL, smallest = mass > 0 && hundredths < 0.05;
  const text = hundredths >= 9.95 || mass === 0 ? hundredths.toFixed() : Math.max(0.1, hundredths).toFixed(1);
  return (smallest ? "<" : "") + text.replace(".", words.decimal);
}

/** The probabilities, in units of 2**-53, that a set has the answer given, and another one. */
export const setMasses = ({ count, size, mass }) =>
  ({ inside: mass, other: (mass * (size - 1) + (TOTAL - mass) * size) / (count - 1) });

/** The masses of what is reported of each row: with fake data on `count` columns, mostly the report of a random row. */
export function shownMasses({ masses }, fakes) {
  if (fakes === 0) return masses;
  const mean = masses[0].map((_, y) => masses.reduce((sum, row) => sum + row[y] / masses.length, 0));
  return masses.map((row) => row.map((mass, y) => (mass + fakes * mean[y]) / (fakes + 1)));
}

/** The likeliest rows of a report, in their own order, and the least and the largest mass of all others. */
export function likeliest(masses) {
  const order = [...masses.keys()].sort((a, b) => masses[b] - masses[a] || a - b);
  const rest = order.slice(SHOWN).map((row) => masses[row]);
  return { rows: order.slice(0, SHOWN).sort((a, b) => a - b), others: rest.length ? [rest.at(-1), rest[0]] : null };
}

/** Whether somebody can give an answer on the page: declining is a tick for the masses, and ticked alone. */
export const canBeGiven = ({ ticks, missing_answer }, answer) =>
  !ticks || answer === missing_answer || !answer.split(";").includes(missing_answer);

/** The mean mass of the answers with a tick and of those without, for each tick; declining is neither. */
export function tickMasses(ticks, answers, masses, declined) {
  const mean = (rows) => rows.reduce((sum, row) => sum + masses[row], 0) / rows.length;
  const sets = [...answers.keys()].filter((row) => !answers[row].split(";").includes(declined));
  return ticks.filter((tick) => tick !== declined).map((tick) => {
    const has = (row) => answers[row].split(";").includes(tick);
    return { tick, ticked: mean(sets.filter(has)), others: mean(sets.filter((row) => !has(row))) };
  });
}

/** The points to which a column rounds the numbers of a question. */
const pointsOf = ({ of, grid, grids = {} }, name) => (of.length === 1 ? grid : grids[name]) ?? [];

/** The words for columns of reports. `say` has the words of the language that is read; see page.js. */
export function makeReceipt({ columns, questions, fakes, agreement, say }) {
  const list = (items) => make("ul", {}, ...items.map((parts) => make("li", {}, ...parts)));
  const title = (name) => (columns[name].of.length === 1 ? say.text(questions.get(columns[name].of[0])) : say.together(columns[name].of));
  const ofOne = (name) => (columns[name].of.length === 1 ? questions.get(columns[name].of[0]) : null);

  /** The answers of a row of a column, or of an answer in a set, in words: codes are points of a grid, then answers. */
  function row(name, place) {
    const column = columns[name], parts = [];
    (column.paths ? column.paths[place] : [place]).forEach((code, which) => {
      const question = questions.get(column.of[which]), points = pointsOf(column, question.name);
      if (code === null) return;
      const shown = code < points.length ? own(String(points[code])) : say.answer(question, question.answers[code - points.length]);
      parts.push(...(parts.length ? [" / "] : []), shown);
    });
    return make("span", {}, ...parts);
  }

  /** The answers that a report names, for the laws that have no table. */
  function named(name, report) {
    const { of, patterns } = columns[name];
    return report.split(" ").map(Number).map((code) => {
      if (!patterns) return row(name, code);
      const question = questions.get(of[Math.floor(code / 2)]);
      return make("span", {}, own(say.text(question)), " ", say.answer(question, question.answers[code % 2]));
    });
  }

  function shares(name, place) {
    const words = say.words(), column = columns[name], masses = shownMasses(column, fakes).map((one) => one[place]);
    const question = ofOne(name), number = (mass) => percent(mass, words);
    if (question?.ticks) {
      const found = tickMasses(question.ticks, question.answers, masses, question.missing_answer).map(({ tick, ticked, others }) =>
        [say.answer(question, tick), ": ", fill(words.tick_share, { ticked: percent(ticked, words), others: percent(others, words) })]);
      const declined = question.answers.indexOf(question.missing_answer);
      if (declined >= 0) found.push([say.answer(question, question.missing_answer), ": ", number(masses[declined])]);
      return [words.shares_of_ticks, list(found)];
    }
    const { rows, others } = likeliest(masses), found = rows.map((one) => [row(name, one), ": ", number(masses[one])]);
    if (others) found.push([fill(words.others, { least: percent(others[0], words), most: percent(others[1], words) })]);
    return [words.shares_of, list(found)];
  }

  /** What a report is, and how often every answer gives it. */
  function meaning(name, report) {
    const words = say.words(), { set, patterns, reports } = columns[name], term = own(title(name), "dt");
    if (report === null) return [term, make("dd", {}, words.no_report)];
    if (patterns) {
      const said = fill(words.reported_joint, { share: percent(agreement, words) });
      return [term, make("dd", {}, said), make("dd", {}, list(named(name, report).map((one) => [one])))];
    }
    if (set) {
      const { inside, other } = setMasses(set), said = fill(words.reported_set, { inside: percent(inside, words), other: percent(other, words) });
      return [term, make("dd", {}, said), make("dd", {}, ...named(name, report).flatMap((one, place) => (place ? [", ", one] : [one])))];
    }
    const place = reports.indexOf(report), said = fill(words.reported, { number: place + 1, count: reports.length });
    return [term, make("dd", {}, said), make("dd", {}, ...shares(name, place))];
  }

  /** The probabilities of a column: the whole table, never the row of an answer. */
  function odds(name) {
    const words = say.words(), column = columns[name], { set, patterns, masses, reports } = column;
    const head = own(title(name), "h3"), exact = make("details", {}, make("summary", {}, words.exact));
    const numbers = (text) => exact.append(make("pre", { dir: "ltr" }, text));
    if (patterns) {
      numbers(JSON.stringify(patterns));
      const values = { size: patterns.size, count: patterns.questions, share: percent(agreement, words) };
      return [head, make("p", {}, fill(words.odds_joint, values)), exact];
    }
    if (set) {
      numbers(`${set.mass}`);
      const { inside, other } = setMasses(set), values = { size: set.size, count: set.count, inside: percent(inside, words), other: percent(other, words) };
      return [head, make("p", {}, fill(words.odds_set, values)), exact];
    }
    if (fakes) exact.append(make("p", {}, words.exact_drawn));
    const rows = [...masses.keys()].map((place) => row(name, place));
    numbers([JSON.stringify(reports), ...masses.map((one, place) => `${rows[place].textContent}: ${one.join(" ")}`)].join("\n"));
    if (masses.length * reports.length > MAX_CELLS) return [head, exact];
    const top = reports.map((_, place) => make("th", { scope: "col" }, String(place + 1)));
    const question = ofOne(name), isShown = (_, place) => !question?.ticks || canBeGiven(question, question.answers[place]);
    const body = shownMasses(column, fakes).map((one, place) => make("tr", {}, make("th", { scope: "row" }, rows[place]),
      ...one.map((mass) => make("td", {}, fill(words.percent, { number: percent(mass, words) }))))).filter(isShown);
    const table = make("table", { class: "odds" }, make("thead", {}, make("tr", {}, make("td", {}), ...top)), make("tbody", {}, ...body));
    return [head, make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": head.textContent }, table), exact];
  }

  return { meaning, odds };
}
