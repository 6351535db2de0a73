"""Style and script of a page: readable on a phone, on paper, in grey, and without scripts."""

STYLE = """
:root{color-scheme:light}
body{margin:0;font:17px/1.5 system-ui,sans-serif;color:#111;background:#fff}
main{max-width:52rem;margin:auto;padding:1rem}
h1{font-size:1.7rem;line-height:1.2}h2{font-size:1.25rem;margin:2rem 0 .5rem}
table{border-collapse:collapse;margin:.5rem 0;font-size:.92rem}
caption{text-align:left;padding:.3rem 0;color:#333;max-width:calc(100vw - 2.5rem)}
th,td{border:1px solid #999;padding:.25rem .5rem;text-align:right}
th{background:#f2f2f2;font-weight:600}tbody th{text-align:left}
table{min-width:16rem}.wide{overflow-x:auto}.wide td{white-space:nowrap}
pre{background:#f4f4f4;border:1px solid #ccc;padding:.6rem;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}
svg{width:100%;max-width:40rem;font-size:13px}figure{margin:.5rem 0}figcaption{color:#333;font-size:.92rem}
.frame{display:none}.frame.shown,.frame.stated{display:block}
.scripted .frame{display:none}.scripted .frame.shown{display:block}
.budget{font-weight:600;border-left:4px solid #2b5f92;padding-left:.6rem}
#slider label{font-weight:600}#slider input{width:100%;max-width:40rem}
.ends{display:flex;justify-content:space-between;max-width:40rem;margin:0;color:#333}
@media (max-width:40rem){table{font-size:.78rem;min-width:0}th,td{padding:.2rem .25rem}h1{font-size:1.4rem}}
@media print{.wide{overflow:visible}#slider{display:none}h2{break-after:avoid}table,figure{break-inside:avoid}
 td{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""

SCRIPT = """
(function () {
  var slider = document.getElementById("slider"), input = document.getElementById("budget");
  var values = input.dataset.values.split(","), frames = document.querySelectorAll(".frame");
  function show() {
    frames.forEach(function (frame) { frame.classList.toggle("shown", frame.dataset.place === input.value); });
    slider.querySelector("output").textContent = values[input.value];
    input.setAttribute("aria-valuetext", "epsilon " + values[input.value]);
  }
  document.body.classList.add("scripted");
  slider.hidden = false;
  input.addEventListener("input", show);
  show();
})();
"""
