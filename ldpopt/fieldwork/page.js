// The page around draw.js and outbox.js: it asks, draws once, forgets the answers, and shows what is sent.
// Nothing on it depends on an answer but the mark of the answer itself.

const byId = (id) => document.getElementById(id);
const { form, digest, wording, bytes, to, invited, shared, shown, parts, words } = JSON.parse(byId("data").textContent);
const questions = byId("questions"), receipt = byId("receipt");
const MAX_ROWS = 12, MAX_CELLS = 2000;  // longest list of a receipt, largest table of percentages
const INVITATION = /^#i=([0-9a-f]{32})$/;

// An invitation comes in the part of the address that no server sees, and leaves the address at once.
const invitation = takeInvitation();
const place = `ldpopt:${digest}${invitation ? `:${invitation}` : ""}`;
const outbox = makeOutbox({ place, to, asked: asked(form), words: wording, tell });

function takeInvitation() {
  const found = INVITATION.exec(location.hash)?.[1];
  try {
    if (found) sessionStorage.setItem(`ldpopt:${digest}`, found);
    if (found) history.replaceState(null, "", location.pathname + location.search);
    return found ?? sessionStorage.getItem(`ldpopt:${digest}`);
  } catch {
    return found ?? null;  // without storage the address keeps the invitation
  }
}

const newId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** All that is sent: the digests of form and words, a random number that stands for this message, and the reports. */
const messageOf = (id, reports, secret = invitation) =>
  JSON.stringify({ form: digest, words: wording, id, reports, ...(secret && { invitation: secret }) });

// Words and numbers

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, key) => values[key]);

function make(tag, ...children) {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
}

/** A probability in units of 2**-53 as a percentage of two digits. */
function percent(mass) {
  const hundredths = (100 * mass) / TOTAL, smallest = mass > 0 && hundredths < 0.05;
  const text = hundredths >= 9.95 || mass === 0 ? hundredths.toFixed() : Math.max(0.1, hundredths).toFixed(1);
  return (smallest ? "<" : "") + text.replace(".", words.decimal);
}

/** The probabilities, in units of 2**-53, that a set has the answer given, and another one. */
function setMasses({ count, size, mass }) {
  return { inside: percent(mass), other: percent((mass * (size - 1) + (TOTAL - mass) * size) / (count - 1)) };
}

const columnCount = Object.keys(form.columns).length;

/** The masses of what is reported of each answer: with fake data, mostly the report of a random answer. */
function shownMasses({ masses }) {
  if (form.scheme !== "fake_data") return masses;
  const mean = masses[0].map((_, y) => masses.reduce((sum, row) => sum + row[y] / masses.length, 0));
  return masses.map((row) => row.map((mass, y) => (mass + (columnCount - 1) * mean[y]) / columnCount));
}

/** The words of the answer whose text a report has, or else the report itself. */
const reportWords = ({ of }, texts, report) => {
  const place = of.length === 1 ? form.questions[of[0]].answers.indexOf(report) : -1;
  return texts[place] ?? report;
};

// The odds, on demand: the whole table, never the row of an answer

function oddsOf({ name, text, answers, agreement }) {
  const source = form.columns[name], { set, patterns, masses, reports } = source;
  const exact = make("details", make("summary", words.exact));
  if (patterns) {
    exact.append(make("pre", JSON.stringify(patterns)));
    const values = { size: patterns.size, count: patterns.questions, share: percent(agreement) };
    return [make("h3", text), make("p", fill(words.odds_joint, values)), exact];
  }
  if (set) {
    exact.append(make("pre", `${set.mass}`));
    const sentence = fill(words.odds_set, { size: set.size, count: set.count, ...setMasses(set) });
    return [make("h3", text), make("p", sentence), exact];
  }
  if (form.scheme === "fake_data") exact.append(make("p", words.exact_drawn));
  exact.append(make("pre", masses.map((row, x) => `${answers[x]}: ${row.join(" ")}`).join("\n")));
  if (masses.length * reports.length > MAX_CELLS) return [make("h3", text), exact];
  const heading = (scope, label) => Object.assign(make("th", label), { scope });
  const head = reports.map((report) => heading("col", reportWords(source, answers, report)));
  const rows = shownMasses(source).map((row, x) =>
    make("tr", heading("row", answers[x]), ...row.map((mass) => make("td", fill(words.percent, { number: percent(mass) })))));
  const table = make("table", make("thead", make("tr", make("td"), ...head)), make("tbody", ...rows));
  const wide = Object.assign(make("div", table), { className: "wide", tabIndex: 0, role: "region", ariaLabel: text });
  return [make("h3", text), wide, exact];
}

// The receipt

/** What a report is, and how often every answer gives it: the same words whatever the answer was. */
function meaning({ name, text, answers, agreement }, report) {
  const source = form.columns[name], { set, patterns, reports } = source;
  if (report === null) return [make("dt", text), make("dd", words.no_report)];
  const named = report.split(" ").map((code) => answers[code]);
  if (patterns) {
    const list = make("ul", ...named.map((answer) => make("li", answer)));
    return [make("dt", text), make("dd", fill(words.reported_joint, { share: percent(agreement) }), list)];
  }
  if (set) return [make("dt", text), make("dd", fill(words.reported_set, { report: named.join(", "), ...setMasses(set) }))];
  const found = [make("dt", text), make("dd", fill(words.reported, { report: reportWords(source, answers, report) }))];
  if (answers.length > MAX_ROWS) return found;
  const column = shownMasses(source).map((row) => row[reports.indexOf(report)]);
  const shares = answers.map((answer, x) => make("li", fill(words.share, { answer, number: percent(column[x]) })));
  return [...found, make("dd", words.shares_of, make("ul", ...shares))];
}

/** What the person is told about the report: what a server decided, or why it is not there yet. */
function stateOf({ message, status, words: answered }, problem) {
  if (answered !== wording) return words.earlier;
  if (problem === "sending") return words.sending;
  if (!to) return words.offline;
  const decided = { 200: words.sent, 409: words.used, 410: words.closed, 413: words.too_long, 422: words.unknown };
  return decided[status] ?? (problem ? fill(words.refused, { status: problem }) : words.unsent);
}

/** What happens to the report: "sending", "forgetful", or the status of a failure that is tried again. */
function tell(news) {
  if (news === "forgetful") byId("forgetful").hidden = false;
  else show(news);
}

function show(problem = null) {
  const { kept } = outbox, { message, waiting, status } = kept, isOfTheseWords = kept.words === wording;
  questions.hidden = message !== null;
  receipt.hidden = message === null;
  byId("outbox").hidden = waiting.length === 0;
  byId("outbox-state").textContent = fill(words.waiting, { count: waiting.length });
  byId("again").hidden = !to;
  byId("file").href = "data:application/jsonl," + encodeURIComponent(waiting.map((one) => `${one}\n`).join(""));
  for (const part of questions.querySelectorAll("[data-question]"))
    part.hidden = !kept.asked.includes(shown[part.dataset.question].name);
  const reports = isOfTheseWords && message !== null ? JSON.parse(message).reports : null;
  byId("meaning").replaceChildren(...(reports ? parts.flatMap((part) => meaning(part, reports[part.name])) : []));
  byId("message").textContent = message;
  byId("told").textContent = status ? words.left : words.ready;
  byId("state").textContent = message === null ? "" : stateOf(kept, problem);
}

// The questions

/** The text of the answer to each question that is asked; null where there is none. */
function given() {
  const found = new FormData(questions);
  return Object.fromEntries(shown.map(({ name, ticks }, place) => {
    const { answers, missing_answer } = form.questions[name], code = found.get(`q${place}`);
    if (!ticks) return [name, code ? answers[code] : null];
    const ticked = found.getAll(`q${place}`), alone = ["none", missing_answer].find((one) => ticked.includes(one));
    return [name, alone ?? (ticked.length ? ticks.filter((tick) => ticked.includes(tick)).join(";") : null)];
  }));
}

/** Ask for what is missing. */
function refuse(text, field) {
  byId("incomplete").textContent = text;
  byId("incomplete").hidden = false;
  field.focus();
}

questions.addEventListener("submit", async (event) => {
  event.preventDefault();
  const answers = given(), consent = byId("consent");
  const open = shown.findIndex(({ name }) =>
    outbox.kept.asked.includes(name) && answers[name] === null && form.questions[name].missing === "refuse"
    && form.questions[name].missing_answer === null);
  if (open >= 0) return refuse(words.incomplete, questions.querySelector(`[name=q${open}]`));
  if (consent && !consent.checked) return refuse(words.no_consent, consent);
  await outbox.draw((names) =>
    padded(messageOf(newId(), drawAll(form, answers, names)), bytes));
  questions.reset();  // the answers are nowhere any more
  show();
  receipt.focus();
  await outbox.sendNow();
});
questions.addEventListener("change", () => { byId("incomplete").hidden = true; });
byId("again").addEventListener("click", outbox.sendNow);
byId("copy").addEventListener("click", () => navigator.clipboard.writeText(outbox.kept.message));
byId("odds").addEventListener("toggle", () => byId("odds-text").append(...parts.flatMap(oddsOf)), { once: true });
byId("next").addEventListener("click", () => {
  outbox.clear(asked(form));
  show();
  byId("title").focus();
});
addEventListener("online", outbox.sendNow);
addEventListener("hashchange", () => { if (INVITATION.test(location.hash)) location.reload(); });  // another link in this window
addEventListener("pageshow", () => questions.reset());  // the browser may have filled in what was there before
addEventListener("storage", ({ key }) => {
  if (key !== place) return;
  outbox.recall();
  show();
});

requireForm(form);
secureWords(1);  // refuses a browser without a secure generator
questions.reset();
byId("shape").textContent = messageOf("…", Object.fromEntries(parts.map(({ name }) => [name, "…"])), invitation && "…");
byId("linked").hidden = invitation === null;
byId("copy").hidden = !navigator.clipboard;
byId("next").hidden = !shared;
byId("unready").hidden = true;
byId("uninvited").hidden = !invited || invitation !== null;
questions.querySelector("button").disabled = invited && invitation === null;
show();
outbox.sendNow();
