// What a person has to send: stored before it is sent, and sent until a server has decided about it. Never an answer.

const VERSION = 2;  // of what is stored
const FINAL = [409, 410, 413, 422];  // never kept, however often it is sent; any other failure is tried again
const MAX_WAIT = 300, MAX_WISH = 86400;  // seconds between two tries: the longest of its own, and that a server may ask for
const TIMEOUT = 30000;  // milliseconds
const MAX_KEEPALIVE = 60000;  // bytes: browsers refuse more in a request that may outlive its page

const bytesOf = (text) => new TextEncoder().encode(text).length;

/** A message filled up with spaces: all messages of a form have one length. */
export const padded = (message, bytes) => message + " ".repeat(Math.max(0, bytes - bytesOf(message)));

/** Seconds until the next try: 1, 2, 4, ... times .5 to 1.5, so that not everybody comes back at once; a server's wish wins. */
export function waitAfter(tries, wish, share) {
  return wish > 0 ? Math.min(wish, MAX_WISH) : Math.min(2 ** (tries - 1), MAX_WAIT) * (0.5 + share);
}

/** Whether something stored is an entry of this version; anything else is dropped. */
function isEntry(entry) {
  const isText = (value) => typeof value === "string", areTexts = (list) => Array.isArray(list) && list.every(isText);
  const isMessage = (text) => {
    try {
      const { reports } = JSON.parse(text);
      return typeof reports === "object" && reports !== null;
    } catch {
      return false;
    }
  };
  return entry?.version === VERSION && isText(entry.words) && areTexts(entry.asked) && areTexts(entry.waiting)
    && Number.isInteger(entry.status) && (entry.message === null || (isText(entry.message) && isMessage(entry.message)));
}

/**
 * The outbox in a place of the browser's storage. `kept` has the questions that are asked, the message, the digest of the
 * words that it was answered under, the status that decided about it (0: none yet), and all messages that wait. `tell`
 * hears of every change: "forgetful", "sending", or the status of a failure that is tried again (0: no connection).
 */
export function makeOutbox({ place, to, asked, words, tell }) {
  let kept = { version: VERSION, words, asked, message: null, status: 0, waiting: [] };
  let tries = 0, timer = null, isSending = false;

  function keep(changes) {
    kept = { ...kept, ...changes };
    try {
      localStorage.setItem(place, JSON.stringify(kept));
    } catch {
      tell("forgetful");
    }
  }

  function recall() {
    let stored = null;
    try {
      stored = localStorage.getItem(place);
    } catch {
      tell("forgetful");
    }
    try {
      if (stored !== null && isEntry(JSON.parse(stored))) kept = JSON.parse(stored);
    } catch {
      // it is none
    }
  }

  /** Do something while no other window of this page does. */
  const alone = (act) => (navigator.locks ? navigator.locks.request(place, act) : act());

  /** Send a message; the status that a server answers with, 0 for none, and the seconds that it asks to wait. */
  async function post(message) {
    try {
      const { ok, status, headers } = await fetch(to, { method: "POST", body: message, credentials: "omit", cache: "no-store",
        redirect: "error", referrerPolicy: "no-referrer", headers: { "content-type": "text/plain" },
        keepalive: bytesOf(message) < MAX_KEEPALIVE, signal: AbortSignal.timeout?.(TIMEOUT) });
      return { status: ok ? 200 : status, wish: Number(headers.get("retry-after")) || 0 };
    } catch {
      return { status: 0, wish: 0 };
    }
  }

  /** Send all that waits; what no server decided about is sent again later, by itself. */
  async function send() {
    if (!to || isSending || kept.waiting.length === 0) return;
    clearTimeout(timer);
    isSending = true;
    tell("sending");
    const tried = new Set();
    let failure = null, wish = 0;
    for (let message; (message = kept.waiting.find((one) => !tried.has(one))) !== undefined && failure !== 0;) {
      tried.add(message);
      const answer = await post(message);
      recall();  // another window may have sent meanwhile
      if (answer.status === 200 || FINAL.includes(answer.status)) {
        keep({ waiting: kept.waiting.filter((one) => one !== message), ...(message === kept.message && { status: answer.status }) });
      } else if (kept.waiting.includes(message)) {
        failure = answer.status;
        wish = Math.max(wish, answer.wish);
      }
    }
    isSending = false;
    tries = failure === null ? 0 : tries + 1;
    if (failure !== null) timer = setTimeout(send, 1000 * waitAfter(tries, wish, secureWords(1)[0] / TOTAL));
    tell(failure);
  }

  /** Send at once, whatever was waited for. */
  function sendNow() {
    tries = 0;
    return send();
  }

  /** Keep the report that is drawn, if no other window has drawn one meanwhile; it is never drawn again. */
  const draw = (makeMessage) => alone(() => {
    recall();
    if (kept.message !== null) return;
    const message = makeMessage(kept.asked);
    keep({ message, words, status: 0, waiting: [...kept.waiting, message] });  // before it is sent
  });

  recall();
  if (kept.message === null) keep({});  // a question that was drawn for this person is not drawn again
  return { get kept() { return kept; }, draw, recall, sendNow, clear: (next) => keep({ asked: next, message: null, status: 0 }) };
}
