// The page put together: tabs, the two panes of the episodes, keys, and the place in the address.

const TABS = { overview: 'Overview', episodes: 'Episodes' };
let current = null;

const panel = (name) => document.getElementById(`panel-${name}`);
const count = el('p', { id: 'count', class: 'count', role: 'status', 'aria-live': 'polite' });
const clear = el('button', {
  type: 'button', class: 'link', hidden: true, on: { click: () => { setFilters({}, applyFilters); list.box.focus(); } },
}, 'Clear filters');
const pane = el('div', { id: 'detail', class: 'pane', tabindex: '-1', role: 'region', 'aria-label': 'Episode' });
const list = episodeList(openRow, () => pane.focus());

function openRow(row) {
  history.replaceState(null, '', `#episode-${row.at}`);
  if (row === current) return;
  current = row;
  replaceChildren(pane, detailView(row));
  pane.scrollTop = 0;
}

function applyFilters() {
  const found = filtered();
  count.textContent = found.length === rows.length
    ? plural(rows.length, 'episode') : `${number.format(found.length)} of ${plural(rows.length, 'episode')}`;
  clear.hidden = Object.values(state).every((value) => !value);
  list.show(found, current);
  if (!found.length) {
    current = null;
    replaceChildren(pane, el('p', { class: 'empty' }, 'No episode fits these filters.'));
  }
}

function showTab(name, isByKey = false) {
  for (const tab of Object.keys(TABS)) {
    const button = document.getElementById(`tab-${tab}`);
    button.setAttribute('aria-selected', String(tab === name));
    button.tabIndex = tab === name ? 0 : -1;
    panel(tab).hidden = tab !== name;
    if (isByKey && tab === name) button.focus();
  }
  if (name === 'overview') history.replaceState(null, '', '#overview');
  else applyFilters();
}

function choose(filters) {
  showTab('episodes');
  setFilters(filters, applyFilters);
  list.box.focus();
}

function tabs() {
  const names = Object.keys(TABS);
  const buttons = names.map((name) => el('button', {
    type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}`, on: { click: () => showTab(name) },
  }, TABS[name]));
  const bar = el('div', { role: 'tablist', class: 'tabs', 'aria-label': 'Views' }, buttons);
  bar.addEventListener('keydown', (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const at = buttons.indexOf(document.activeElement);
    showTab(names[(at + by + names.length) % names.length], true);
    event.preventDefault();
  });
  return bar;
}

function titles() {
  return el('h1', {}, index.runs.map((run, at) => [
    at ? el('span', { class: 'against' }, 'against') : null,
    isComparison ? el('span', { class: `letter run-${at}` }, LETTERS[at]) : null,
    el('span', { class: 'run-name' }, run.name)]));
}

document.addEventListener('keydown', (event) => {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? '');
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey) {
    showTab('episodes');
    document.getElementById('query').focus();
    event.preventDefault();
  } else if (event.key === 'Escape' && !panel('episodes').hidden) {
    list.box.focus();
    event.preventDefault(); // a search box would empty itself, and the list would still be that of the search
  }
});

replaceChildren(document.getElementById('header'), titles(), tabs());
replaceChildren(document.getElementById('main'),
  el('div', { role: 'tabpanel', id: 'panel-overview', 'aria-labelledby': 'tab-overview' }, overview(choose)),
  el('div', { role: 'tabpanel', id: 'panel-episodes', 'aria-labelledby': 'tab-episodes' },
    el('div', { class: 'left' }, filterBar(applyFilters), el('div', { class: 'tally' }, count, clear), list.box,
      el('p', { id: 'keys', class: 'keys' }, '/ search · ↑ ↓ choose · Enter read · Esc back to the list')),
    pane));

const place = /^#episode-(\d+)$/.exec(location.hash);
if (place && rows[Number(place[1])]) {
  const row = rows[Number(place[1])];
  showTab('episodes');
  list.show(filtered(), row);
} else showTab('overview');
document.documentElement.dataset.ready = 'true';
