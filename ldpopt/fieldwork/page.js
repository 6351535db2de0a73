// The page around draw.js, outbox.js and ask.js: it draws once, forgets the answers, and shows what is sent.

const data = JSON.parse(byId("data").textContent);
const { form, digest, wording, bytes, to, invited, shared, languages } = data;
const { columns, choices } = form;  // choices of an epsilon: asked first, and sent
const asksFirst = choices ? [{ name: "choice", answers: choices.map(({ choice }) => choice), missing: "refuse", missing_answer: null }] : [];
const isChoice = ({ name }) => choices !== undefined && name === "choice";
const formOf = Object.fromEntries((choices ?? [{ choice: "" }]).map(({ choice }) => [choice, chosenForm(form, choice)]));
const questions = new Map(data.questions.map((one) => [one.name, { ...form.questions[one.name], ...one }]));
const receipt = byId("receipt");
const ID = /^[0-9a-f]{32}$/, WEIGHT = /^(0|[1-9][0-9]*)(\.[0-9]+)?$/;

// The language that is read: neither sent nor kept

let language = navigator.languages?.map((wanted) => [wanted, wanted.split("-")[0]]).flat().find((code) => code in languages)
  ?? Object.keys(languages)[0];
let words = languages[language].words;

/** The texts of the survey in the language that is read. */
const texts = () => languages[language].texts;
const stated = (table, key) => (Object.hasOwn(table ?? {}, key) ? table[key] : undefined);  // a label may be "constructor"
const textsOf = ({ name }) => stated(texts().questions, name) ?? {};
const say = {
  words: () => words,
  send: () => (to ? words.send : words.draw),
  text: (question) => (isChoice(question) ? words.choice : textsOf(question).text || question.name),
  row: (question) => textsOf(question).row || say.text(question),
  heading: (question) => textsOf(question).heading || question.matrix,
  section: (key) => (key === undefined ? "" : own(stated(texts().sections, key) || key)),
  together: (names) => (names.length === questions.size ? words.together : names.map((name) => say.text(questions.get(name))).join(" / ")),
  answer: answerText,
};

/** An answer of a question, or a tick, in words. */
function answerText(question, label) {
  if (isChoice(question)) return make("span", {}, texts().choices[label]);
  const { answers, missing_answer, not_asked, number, repeat, ticks } = question, wordsFor = (one) => stated(textsOf(question).answers, one);
  if (wordsFor(label) !== undefined) return own(wordsFor(label));
  if (label === missing_answer) return make("span", {}, words.no_answer);
  if (label === not_asked) return make("span", {}, words.not_asked);
  if (label === repeat) return make("span", {}, words.inconsistent);
  if (ticks && label === "none") return make("span", {}, words.none);
  if (ticks && !ticks.includes(label)) return own(label.split(";").map((tick) => wordsFor(tick) ?? (tick === missing_answer ? words.no_answer : tick)).join(" + "));
  if (number?.starts === undefined) return own(label);
  const { least, most } = boundsOf(number)[answers.filter((other) => other !== missing_answer && other !== not_asked).indexOf(label)];
  return make("span", {}, least === most ? String(least) : fill(words.from_to, { least, most }));
}

/** Show all words and texts in a language; ticks stay. */
function read(code) {
  language = code;
  words = languages[code].words;
  Object.assign(document.documentElement, { lang: code, dir: words.direction });
  for (const button of byId("languages").children) button.setAttribute("aria-pressed", String(button.lang === code));
  if (Object.keys(languages).length > 1) {
    for (const part of document.querySelectorAll("[data-word]")) part.textContent = words[part.dataset.word];
    for (const part of document.querySelectorAll("[data-text]")) part.textContent = texts()[part.dataset.text];
    for (const part of document.querySelectorAll("[data-lines]"))
      part.replaceChildren(...texts()[part.dataset.lines].map((line) => make("p", {}, line)));
    byId("languages").ariaLabel = words.languages;
    document.title = texts().title;
  }
  byId("fields").replaceChildren(...(form.fields && link ? fieldsText() : []));
  if (byId("odds").open) showOdds();
  asking.build();
  show();
}

/** What the link says of a person, and that it is seen. */
function fieldsText() {
  const said = Object.entries(link.fields).map(([name, value], place) => {
    const wordsOf = (key) => stated(stated(texts().fields, name), key);
    return make("span", {}, place ? ", " : "", own(wordsOf("") || name), " ", own(wordsOf(value) || value, "strong"));
  });
  const [before, after] = words.fields.split("{fields}");
  return [before, ...said, after];
}

// The link: an invitation and fields come in the part of the address that no server sees, and leave the address at once

const link = takeLink();
const place = `ldpopt:${digest}${link ? `:${link.invitation}` : ""}`;
const needsLink = (invited || form.fields !== undefined) && link === null;

/** What a link says, if it is one of this survey: no stratum is free to choose, so all fields are needed. */
function readLink(text) {
  const parts = new URLSearchParams(text), invitation = parts.get("i") ?? "";
  const fields = Object.fromEntries(Object.keys(form.fields ?? {}).map((name) => [name, parts.get(name) ?? ""]));
  const isField = ([name, value]) => (form.fields[name].length ? form.fields[name].includes(value) : value.length <= 12 && WEIGHT.test(value));
  return ID.test(invitation) && Object.entries(fields).every(isField) ? { invitation, fields } : null;
}

function takeLink() {
  const key = `ldpopt:${digest}`, text = location.hash.slice(1), taken = readLink(text);
  try {
    if (taken) sessionStorage.setItem(key, text);
    if (taken) history.replaceState(null, "", location.pathname + location.search);
    return taken ?? (isLink() ? null : readLink(sessionStorage.getItem(key) ?? ""));
  } catch {
    return taken;  // without storage the address keeps the link
  }
}

/** Whether the address is meant as somebody's link, be it whole or not. */
function isLink() {
  return new URLSearchParams(location.hash.slice(1)).has("i");
}

// Drawing and sending

const newId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** All that is sent: the digests of form and words, a random number that stands for this message, and the reports. */
const messageOf = (id, reports, choice, said = link) => JSON.stringify({ form: digest, words: wording, id, reports,
  ...(choices && { choice }), ...(said && form.fields && { fields: said.fields }), ...(said && { invitation: said.invitation }) });

const outbox = makeOutbox({ place, to, asked: asked(form), words: wording, tell });
const asking = makeQuestions({ ...form, questions: { ...form.questions, ...(choices && { choice: asksFirst[0] }) } }, say);
const receipts = Object.fromEntries(Object.entries(formOf).map(([choice, { columns }]) => [choice, makeReceipt({ columns, questions, say,
  agreement: data.agreement, fakes: form.scheme === "fake_data" ? Object.keys(columns).length - 1 : 0 })]));

/** The questions that this person is asked. */
const askedNow = () => [...asksFirst, ...[...questions.values()].filter(({ name }) => outbox.kept.asked.includes(name))];

/** What the person is told about the report: what a server decided, or why it is not there yet. */
function stateOf({ status, words: answered }, problem) {
  if (answered !== wording) return words.earlier;
  if (problem === "sending") return words.sending;
  if (!to) return words.offline;
  const decided = { 200: words.sent, 409: words.used, 410: words.closed, 413: words.too_long, 422: words.unknown };
  return decided[status] ?? (problem ? fill(words.refused, { status: problem }) : words.unsent);
}

let lastProblem = null;

/** What happens to the report: "sending", "forgetful", or the status of a failure that is tried again. */
function tell(news) {
  if (news === "forgetful") byId("forgetful").hidden = false;
  else show(news);
}

function show(problem = lastProblem) {
  const { kept } = outbox, { message, waiting, status } = kept;
  lastProblem = problem;
  byId("questions").hidden = message !== null || needsLink;
  receipt.hidden = message === null;
  byId("outbox").hidden = waiting.length === 0;
  byId("outbox-state").textContent = fill(words.waiting, { count: waiting.length });
  byId("again").hidden = !to;
  byId("file").href = "data:application/jsonl," + encodeURIComponent(waiting.map((one) => `${one}\n`).join(""));
  const { reports, choice = "" } = kept.words === wording && message !== null ? JSON.parse(message) : {}, receiptOf = receipts[choice];
  byId("meaning").replaceChildren(...(reports && receiptOf ? Object.keys(columns).flatMap((name) => receiptOf.meaning(name, reports[name])) : []));
  byId("message").textContent = message;
  byId("told").textContent = status ? words.left : words.ready;
  byId("state").textContent = message === null ? "" : stateOf(kept, problem);
}

function showOdds() {
  byId("odds-tables").replaceChildren(...(choices ?? [{ choice: "" }]).flatMap(({ choice }) =>
    [...(choices ? [make("h3", {}, texts().choices[choice])] : []), ...Object.keys(columns).flatMap(receipts[choice].odds)]));
}

byId("questions").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (needsLink || !asking.isComplete()) return;
  const { choice = "", ...answers } = asking.answers();
  await outbox.draw((names) =>
    padded(messageOf(newId(), drawAll(formOf[choice], answers, names), choice), bytes));
  asking.begin();  // the answers are nowhere any more
  show();
  receipt.focus();
  await outbox.sendNow();
});
byId("again").addEventListener("click", outbox.sendNow);
byId("copy").addEventListener("click", () => navigator.clipboard.writeText(outbox.kept.message));
byId("odds").addEventListener("toggle", () => { if (byId("odds").open) showOdds(); });
byId("next").addEventListener("click", () => {
  outbox.clear(asked(form));
  asking.begin(askedNow());
  show();
  byId("title").focus();
});
addEventListener("online", outbox.sendNow);
addEventListener("hashchange", () => { if (isLink()) location.reload(); });  // another link in this window
// Whoever goes back to the page, or leaves it, does not find the answers there
addEventListener("pageshow", () => asking.begin());
addEventListener("pagehide", () => asking.begin());
addEventListener("storage", ({ key }) => {
  if (key !== place) return;
  outbox.recall();
  show();
});

Object.values(formOf).forEach(requireForm);
secureWords(1);  // refuses a browser without a secure generator
byId("languages").append(...(Object.keys(languages).length > 1 ? Object.keys(languages).map((code) => {
  const button = make("button", { type: "button", lang: code, dir: languages[code].words.direction }, languages[code].words.language);
  button.addEventListener("click", () => read(code));
  return button;
}) : []));
byId("shape").textContent = messageOf("…", Object.fromEntries(Object.keys(columns).map((name) => [name, "…"])), "…",
  link && { invitation: "…", fields: link.fields });
byId("linked").hidden = link === null;
byId("copy").hidden = !navigator.clipboard;
byId("next").hidden = !shared;
byId("unready").hidden = true;
byId("uninvited").hidden = !needsLink;
asking.begin(askedNow());
read(language);
outbox.sendNow();
