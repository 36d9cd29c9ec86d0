// Small conveniences. Every page works without them.

// What must not be clicked twice: the second submission of a form is not sent while the first is under way.
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.dataset.sent === 'yes') return event.preventDefault();
  const question = form.dataset.confirm;
  if (question && !window.confirm(question)) return event.preventDefault();
  form.dataset.sent = 'yes';
});
// Back from the browser's memory: the form may be sent again.
window.addEventListener('pageshow', () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// What somebody has filled in, and not sent.
const filledIn = (field) =>
  field.type === 'checkbox' || field.type === 'radio'
    ? field.checked !== field.defaultChecked
    : field.type !== 'hidden' && field.tagName !== 'SELECT' && field.value !== field.defaultValue;

// A part that reads itself again must not take away what somebody selects, scrolls or writes.
document.addEventListener('htmx:beforeSwap', (event) => {
  const selection = document.getSelection();
  const busy =
    event.target.contains(document.activeElement) ||
    [...event.target.querySelectorAll('input, textarea, select')].some(filledIn) ||
    (selection && !selection.isCollapsed && event.target.contains(selection.anchorNode));
  if (busy) event.detail.shouldSwap = false;
});

// A page that shows old figures says so.
document.addEventListener('htmx:afterRequest', (event) => {
  document.getElementById('stale').hidden = event.detail.successful;
});

// The curves of the overview. Colours are those that the sheet gives to the legend, so they follow light and dark.
let plots = [];
function drawCurves() {
  plots = plots.filter(({ plot, watcher, place }) => {
    if (place.isConnected) return true;
    watcher.disconnect();
    plot.destroy();
    return false;
  });
  for (const place of document.querySelectorAll('[data-curve]'))
    if (!plots.some((each) => each.place === place)) plots.push(drawCurve(place));
}

const utc = (seconds, from, to) => new Date(seconds * 1000).toISOString().slice(from, to);

function drawCurve(place) {
  const { from, to, at, owed, posted } = JSON.parse(place.dataset.curve);
  const figure = place.closest('figure');
  const colour = (selector) => getComputedStyle(figure.querySelector(selector)).color;
  const { color: soft, borderTopColor: line } = getComputedStyle(place);
  const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const count = new Intl.NumberFormat('en');
  const plot = new uPlot(
    {
      width: place.clientWidth,
      height: 240,
      // The whole range that was asked for, also where the history is younger.
      scales: { x: { range: [from, to] } },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'UTC'),
      axes: [
        {
          ...axis,
          values: (_, splits, _axis, _space, step) =>
            splits.map((each) => utc(each, 11, step < 60 ? 19 : 16)),
        },
        {
          ...axis,
          // Whole events; and room for the longest of the numbers.
          values: (_, splits) => splits.map((each) => (Number.isInteger(each) ? count.format(each) : '')),
          size: (_, values) => 24 + 8 * Math.max(1, ...(values ?? []).map((each) => each.length)),
        },
      ],
      series: [
        { label: 'UTC', value: (_, seconds) => (Number.isFinite(seconds) ? utc(seconds, 11, 19) : '–') },
        { label: 'accepted', stroke: colour('.solid'), width: 2 },
        { label: 'posted', stroke: colour('.dashed'), width: 3, dash: [4, 6] },
      ],
    },
    [at, owed, posted],
    place,
  );
  const watcher = new ResizeObserver(() => {
    if (place.clientWidth > 0) plot.setSize({ width: place.clientWidth, height: 240 });
  });
  watcher.observe(place);
  return { place, plot, watcher };
}

document.addEventListener('htmx:load', drawCurves);
document.addEventListener('htmx:afterSettle', drawCurves);
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const { plot, watcher } of plots) {
    watcher.disconnect();
    plot.destroy();
  }
  plots = [];
  drawCurves();
});
drawCurves();
