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

// A part that reads itself again must not take text away that somebody is selecting, or a table that is being scrolled.
document.addEventListener('htmx:beforeSwap', (event) => {
  const selection = document.getSelection();
  const busy =
    event.target.contains(document.activeElement) ||
    (selection && !selection.isCollapsed && event.target.contains(selection.anchorNode));
  if (busy) event.detail.shouldSwap = false;
});

// A page that shows old figures says so.
document.addEventListener('htmx:afterRequest', (event) => {
  document.getElementById('stale').hidden = event.detail.successful;
});
