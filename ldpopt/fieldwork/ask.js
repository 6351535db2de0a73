// Asks: builds the questions of one page after the other in the language that is read, and keeps the answers in memory only.

const MAX_BUTTONS = 12;  // largest number of answers that are buttons; more are a menu
const byId = (id) => document.getElementById(id);

/** A text with its {places} filled in; other braces stay. */
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (place, key) => values[key] ?? place);

/** An element with attributes, where null and false leave one out, and children. */
function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes))
    if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  made.append(...children);
  return made;
}

/** A text of the survey, which may run in another direction than the page. */
const own = (text, tag = "span", attributes = {}) => make(tag, { dir: "auto", ...attributes }, text);

/** Takes what was ticked, chosen or typed out of the fields of a question. */
function empty({ inputs }) {
  for (const input of inputs) {
    if (input.type === "radio" || input.type === "checkbox") input.checked = false;
    else if (input.value) input.value = "";
  }
}

/** Marks or unmarks what belongs to a question, and says below it what is missing. */
function mark({ error, parts, inputs }, text) {
  error.textContent = text;
  error.hidden = text === "";
  for (const part of parts) part.classList.toggle("wrong", text !== "");
  for (const input of inputs) text ? input.setAttribute("aria-invalid", "true") : input.removeAttribute("aria-invalid");
}

/**
 * The questions on the page, of a form. `say` has the words of the language that is read: those of the page, `say.words()`, and those
 * of the survey, such as `say.answer(question, label)`.
 */
export function makeQuestions(form, say) {
  const values = new Map(), fields = new Map();  // answers, and what is on the page, by question
  let stated = [], questions = [], page = 0, isTried = false, isAgreed = false, isAsked = {};

  /** The answer to each question; null where there is none. */
  const answers = () => answersByName(questions, (question) => answerFrom(question, values.get(question.key)));
  /** Whether each question is asked, by key. */
  const askedByKey = () => {
    const found = applies(form, answers());
    return Object.fromEntries(questions.map(({ key, name }) => [key, found[name]]));
  };
  /** The pages that have something to ask. */
  const pages = () => pagesOf(questions).filter((some) => some.some((question) => isAsked[question.key]));
  const shown = () => pages()[page] ?? [];
  const isLast = () => page >= pages().length - 1;
  const problem = (question) => (isAsked[question.key] ? problemOf(question, values.get(question.key)) : null);
  const lacksConsent = () => isLast() && byId("consent") !== null && !isAgreed;

  function problemText(question) {
    const words = say.words(), kind = problem(question);
    if (kind === null) return "";
    if (kind === "open") return question.missing_answer === null ? words.open : words.open_decline;
    const { least, most, step = 1 } = question.number;
    return fill(step === 1 ? words.range : words.range_step, { least, most, step });
  }

  /** A value changed: what is not asked any more is forgotten, and marks go where there is an answer. */
  function follow() {
    byId("incomplete").hidden = true;  // not when a field is left: the button must not move below a pointer
    isAsked = askedByKey();
    forgetHidden(isAsked, values);
    for (const question of shown()) {
      const field = fields.get(question.key);
      for (const part of field.parts) part.hidden = !isAsked[question.key];
      if (!isAsked[question.key]) empty(field);
      mark(field, isTried ? problemText(question) : "");
    }
    for (const { card, rows } of fields.values()) card.hidden = !rows.some(({ key }) => isAsked[key]);
    if (byId("consent")) mark(consentField(), isTried && lacksConsent() ? say.words().no_consent : "");
    tellProgress();
  }

  const consentField = () => ({ error: byId("no-consent"), parts: [byId("agree")], inputs: [byId("consent")] });

  function set(question, value) {
    values.set(question.key, value);
    follow();
  }

  /** One choice: its answer is marked, and so are the others where ticks exclude each other. */
  function choice(question, id, label, text, describedBy) {
    const isOn = () => {
      const value = values.get(question.key);
      return question.ticks ? (value ?? []).includes(label) : value === label;
    };
    const input = make("input", { type: question.ticks ? "checkbox" : "radio", name: id, value: label, checked: isOn(), "aria-describedby": describedBy });
    input.isOn = isOn;
    input.addEventListener("change", () => {
      if (!question.ticks) return set(question, label);
      set(question, ticked(question, values.get(question.key) ?? [], label, input.checked));
      for (const other of document.getElementsByName(id)) other.checked = other.isOn();
    });
    return make("label", { class: "answer" }, input, text);
  }

  /** The choices of a question with their words: "none" and "no answer" come last, then leaving it out. */
  function choicesOf(question) {
    const { answers, isAgain, missing, missing_answer, not_asked, repeat, ticks } = question;
    const alone = [...(ticks ? ["none"] : []), ...(missing_answer === null ? [] : [missing_answer])];
    const labels = (ticks ?? answers).filter((label) => !alone.includes(label) && label !== not_asked && label !== repeat);
    if (isAgain) labels.reverse();  // in another order than the first time
    const found = [...labels, ...alone].map((label) => [label, say.answer(question, label)]);
    return missing === "leave_out" && !ticks ? [...found, ["", make("span", {}, say.words().leave_out)]] : found;
  }

  function hintOf({ isAgain, missing, missing_answer, ticks }) {
    const words = say.words();
    return [isAgain ? words.asked_again : "", ticks ? words.several : "", missing === "leave_out" ? words.may_leave_out : "", missing_answer === null ? "" : words.may_decline]
      .filter(Boolean).join(" ");
  }

  const isRequired = ({ missing, missing_answer }) => missing === "refuse" && missing_answer === null;
  const heading = (question, text) =>
    [own(text), ...(isRequired(question) ? [" ", make("span", { class: "needed" }, say.words().needed)] : [])];

  function menu(question, id, describedBy) {
    const select = make("select", { id, name: id, "aria-describedby": describedBy, "aria-required": isRequired(question) && "true" },
      make("option", { value: "" }, say.words().choose));
    const choices = choicesOf(question), value = values.get(question.key);
    choices.forEach(([label, text], place) =>
      select.append(make("option", { value: place, selected: label === value, dir: "auto" }, text.textContent)));
    select.addEventListener("change", () => {
      if (select.value !== "") return set(question, choices[select.value][0]);
      values.delete(question.key);
      follow();
    });
    return select;
  }

  /** A field for digits, and a box for whoever declines: each empties the other. */
  function typed(question, id, describedBy) {
    const value = values.get(question.key), { least, most } = question.number;
    const input = make("input", { type: "text", inputmode: "numeric", id, name: id, autocomplete: "off", value: value?.typed ?? "",
      maxlength: 12, size: Math.max(4, String(most).length + 1), "aria-describedby": describedBy, "aria-required": isRequired(question) && "true" });
    const range = make("p", { class: "hint", id: `${id}-range` }, fill(say.words().from_to, { least, most }));
    input.setAttribute("aria-describedby", `${id}-range ${describedBy}`);
    if (question.missing_answer === null) {
      input.addEventListener("input", () => set(question, { typed: input.value }));
      return [range, input];
    }
    const box = make("input", { type: "checkbox", name: `${id}-declined`, checked: value?.declined === true, "aria-describedby": describedBy });
    input.addEventListener("input", () => {
      box.checked = false;
      set(question, { typed: input.value });
    });
    box.addEventListener("change", () => {
      if (box.checked) input.value = "";
      set(question, box.checked ? { declined: true } : { typed: "" });
    });
    return [range, input, make("label", { class: "answer" }, box, say.answer(question, question.missing_answer))];
  }

  function keep(question, card, part, error, rows) {
    const inputs = [...part.querySelectorAll("input, select"), ...(part.getAttribute("role") === "radiogroup" ? [part] : [])];
    fields.set(question.key, { card, error, rows, inputs, parts: [part] });
  }

  /** The text of a question; of a row of a table that is asked alone, with that of the table. */
  const titleOf = (question) => (question.table ? `${say.heading({ ...question, matrix: question.table })} ${say.row(question)}` : say.text(question));

  function questionCard(question) {
    const id = `q${questions.indexOf(question)}`, hint = hintOf(question), number = isTyped(question), choices = number ? [] : choicesOf(question);
    const error = make("p", { id: `${id}-error`, class: "error", hidden: true });
    const hints = hint ? [make("p", { class: "hint", id: `${id}-hint` }, hint)] : [];
    const described = [...(hint ? [`${id}-hint`] : []), `${id}-error`].join(" "), text = heading(question, titleOf(question));
    let card;
    if (number || (!question.ticks && choices.length > MAX_BUTTONS)) {
      const field = number ? typed(question, id, described) : [menu(question, id, described)];
      card = make("div", { class: "question", "data-question": question.key }, make("label", { class: "legend", for: id }, ...text), ...hints, ...field, error);
    } else {
      const group = { role: question.ticks ? null : "radiogroup", "aria-required": isRequired(question) && !question.ticks && "true" };
      card = make("fieldset", { class: "question", "data-question": question.key, "aria-describedby": hint ? `${id}-hint` : null, ...group },
        make("legend", {}, ...text), ...hints, ...choices.map(([label, shown]) => choice(question, id, label, shown, `${id}-error`)), error);
    }
    keep(question, card, card, error, [question]);
    return card;
  }

  /** Questions with the same answers: a table where there is room, and cards where there is none. */
  function matrixCard(rows) {
    const id = `m${questions.indexOf(rows[0])}`, columns = choicesOf(rows[0]), hint = hintOf(rows[0]);
    const head = columns.map(([, text]) => make("th", { scope: "col" }, text));
    const body = make("tbody", {});
    const card = make("fieldset", { class: "question matrix", "aria-describedby": hint ? `${id}-hint` : null },
      make("legend", {}, ...heading(rows[0], say.heading(rows[0]))), ...(hint ? [make("p", { class: "hint", id: `${id}-hint` }, hint)] : []),
      make("table", {}, make("thead", {}, make("tr", {}, make("td", {}), ...head)), body));
    for (const question of rows) {
      const name = `q${questions.indexOf(question)}`, error = make("p", { id: `${name}-error`, class: "error", hidden: true });
      const title = make("th", { scope: "row" }, own(say.row(question), "span", { id: `${name}-row` }), error);
      const cells = choicesOf(question).map(([label, text], place) => {
        const label_ = choice(question, name, label, text, `${name}-error`);
        text.id = `${name}-${place}`;
        label_.firstChild.setAttribute("aria-labelledby", `${name}-row ${text.id}`);
        return make("td", {}, label_);
      });
      const row = make("tr", { "data-question": question.key }, title, ...cells);
      body.append(row);
      keep(question, card, row, error, rows);
    }
    return card;
  }

  function tellProgress() {
    const words = say.words(), count = pages().length, isEnd = isLast();
    const said = count > 1 ? fill(words.page, { page: page + 1, pages: count }) : "";
    if (byId("progress").textContent !== said) byId("progress").textContent = said;
    byId("memory").hidden = count < 2;
    byId("back").hidden = page === 0;
    byId("forward").textContent = isEnd ? say.send() : words.forward;
    for (const part of document.querySelectorAll("[data-last]")) part.hidden = !isEnd;
  }

  /** Build the page in the language that is read; answers and marks stay. */
  function build() {
    isAsked = askedByKey();
    const rows = shown(), title = say.section(rows.find(({ section }) => section)?.section);
    fields.clear();
    byId("section").replaceChildren(title);
    byId("section").hidden = title === "";
    byId("cards").replaceChildren(...blocksOf(rows).map((block) => (block[0].matrix ? matrixCard(block) : questionCard(block[0]))));
    follow();
  }

  function turn(to) {
    page = to;
    isTried = false;
    build();
    (byId("section").hidden ? byId("progress") : byId("section")).focus();
  }

  /** Mark all that is open on this page and go to the first; whether there is any. */
  function refuse() {
    const open = shown().filter((question) => problem(question) !== null), words = say.words();
    isTried = open.length > 0 || lacksConsent();
    follow();
    if (!isTried) return false;
    byId("incomplete").textContent = fill(words.incomplete, { count: open.length + lacksConsent() });
    byId("incomplete").hidden = false;
    (open.length ? fields.get(open[0].key).inputs[0] : byId("consent")).focus();
    return true;
  }

  /** Whether everything is answered; if not, the next page, or what is open, is shown. */
  function isComplete() {
    if (refuse()) return false;
    if (isLast()) return true;
    turn(page + 1);
    return false;
  }

  /** Forget all answers, and begin with the first page: of the same questions, or of others. */
  function begin(others = stated) {
    stated = others;
    questions = asTheyAreAsked(stated);
    values.clear();
    isAgreed = false;
    if (byId("consent")) byId("consent").checked = false;
    page = 0;
    isTried = false;
    build();
  }

  byId("back").addEventListener("click", () => turn(page - 1));
  byId("consent")?.addEventListener("change", ({ target }) => {
    isAgreed = target.checked;
    follow();
  });
  return { answers, begin, build, isComplete };
}
