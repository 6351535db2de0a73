// A stand-in for what outbox.js uses of a browser. `answers` are what the server says next: a status, or [status, Retry-After];
// 0 is no connection. It is the same in every engine, and no time passes.
const world = { stored: new Map(), timers: [], sent: [], answers: [], told: [], word: 0, storage: true };
const require = () => { if (!world.storage) throw new Error("storage is switched off"); };
const localStorage = {
  getItem: (key) => (require(), world.stored.get(key) ?? null),
  setItem: (key, text) => { require(); world.stored.set(key, text); },
};
const setTimeout = (act, milliseconds) => world.timers.push({ act, milliseconds });
const clearTimeout = (number) => { if (number !== null) world.timers[number - 1].act = () => {}; };
const navigator = {}, AbortSignal = { timeout: (milliseconds) => `ends after ${milliseconds}` };
const crypto = { getRandomValues: (view) => view.fill(world.word) };
class TextEncoder {
  encode(text) {
    return { length: unescape(encodeURIComponent(text)).length };
  }
}
async function fetch(to, options) {
  world.sent.push({ to, ...options, stored: [...world.stored.values()].at(-1) });
  const [status, wish = null] = [world.answers.shift() ?? 0].flat();
  if (status === 0) throw new TypeError("failed to fetch");
  return { ok: status >= 200 && status < 300, status, headers: { get: (name) => (name === "retry-after" ? wish : null) } };
}
const newOutbox = (changes) =>
  makeOutbox({ place: "here", to: "reports", asked: ["a"], words: "w", tell: (news) => world.told.push(news), ...changes });
