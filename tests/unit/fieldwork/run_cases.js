// Runs the cases of tests/draw_vectors.py with the functions of draw.js, and returns the numbers of those that differ.
function runCases(text) {
  const bytesOf = (hex) => Uint8Array.from(hex.match(/../g), (digits) => parseInt(digits, 16));
  const calls = {
    table: ({ column, codes, words }) => words.map((word) => draw(column, codes, () => [word])),
    draw: ({ column, codes }, words) => draw(column, codes, words),
    applies: ({ form, answers }) => applies(form, answers),
    asked: ({ form }, words) => asked(form, words),
    drawAll: ({ form, answers, names }, words) => drawAll(form, answers, names, words),
    chosen: ({ form, choice, answers, names }, words) => drawAll(chosenForm(form, choice), answers, names, words),
    each: ({ form, answers, words }) => words.map((word) => Object.values(drawAll(form, answers, undefined, () => [word]))[0]),
    requireColumn: ({ column, questions }) => requireColumn("q", column, questions) ?? null,
    requireForm: ({ form }) => requireForm(form) ?? null,
    wordsOf: ({ hex }) => wordsOf(new DataView(bytesOf(hex).buffer)),
    secureWords: ({ hex }) => {
      const bytes = bytesOf(hex), before = Object.getOwnPropertyDescriptor(globalThis, "crypto");
      let start = 0;
      const getRandomValues = (view) => {
        if (view.length > 65536) throw new Error("more than one call may ask for");
        view.set(bytes.subarray(start, (start += view.length)));
        return view;
      };
      Object.defineProperty(globalThis, "crypto", { value: { getRandomValues }, configurable: true, writable: true });
      const words = secureWords(bytes.length / 8);
      if (before) Object.defineProperty(globalThis, "crypto", before);
      return start === bytes.length ? words : "other bytes";
    },
  };
  return JSON.parse(text).flatMap((given, number) => {
    let used = ["table", "each"].includes(given.call) ? given.words.length : 0, found;
    try {
      found = calls[given.call](given, (count) => {
        if (used + count > given.words.length) throw new Error("more words than Python needs");
        return given.words.slice(used, (used += count));
      });
    } catch {
      found = "refused";
    }
    const isSame = JSON.stringify(found) === JSON.stringify(given.expected);
    return isSame && (given.used === null || given.used === used) ? [] : [number];
  });
}
