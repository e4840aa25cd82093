// The filters of the list. `state` holds what is chosen; an empty string is no condition.

const state = { query: '', category: '', domain: '', outcome: '', failure: '', change: '', under: '' };

const OUTCOMES = {
  solved: ['solved', (one) => one.solved],
  failed: ['failed', (one) => !one.solved],
  cut_off: ['cut off by a limit', (one) => one.truncated],
  broken: ['broken off', (one) => one.broken],
  hinted: ['with hints', (one) => one.hints],
  errors: ['with errors', (one) => one.errors],
};

function filtered() {
  const found = state.query ? search(state.query) : null;
  return rows.filter((row) => (found === null || found.has(row.at)) && fits(row));
}

function fits(row) {
  const any = (test) => row.episodes.some((one) => one !== null && test(one));
  const isFlip = row.change === 'gained' || row.change === 'lost';
  return (!state.category || row.first.category === state.category)
    && (!state.domain || (row.first.domains ?? []).includes(state.domain))
    && (!state.outcome || any(OUTCOMES[state.outcome][1]))
    && (!state.failure || any((one) => one.failure === state.failure))
    && (!state.under || any((one) => one.under === state.under))
    && (!state.change || row.change === state.change || (state.change === 'flipped' && isFlip));
}

function filterBar(apply) {
  const all = rows.flatMap((row) => row.episodes.filter(Boolean));
  const values = (get) => [...new Set(all.flatMap(get))].filter(Boolean).sort().map((value) => [value, value]);
  const present = Object.entries(OUTCOMES).filter(([, [, test]]) => all.some(test)).map(([name, [label]]) => [name, label]);
  const changed = new Set(rows.map((row) => row.change));
  const changes = Object.entries(CHANGES).filter(([name]) => name === 'flipped' || changed.has(name));
  const box = el('input', {
    type: 'search', id: 'query', placeholder: 'Search ids and texts  ( / )', 'aria-label': 'Search ids and texts',
    autocomplete: 'off', spellcheck: 'false',
  });
  let waiting = 0;
  box.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { state.query = box.value; apply(); }, 120);
  });
  const choices = [
    isComparison && choice('change', 'Change', changes, apply),
    choice('outcome', 'Outcome', present, apply),
    choice('category', 'Category', values((one) => one.category), apply),
    choice('domain', 'Domain', values((one) => one.domains ?? []), apply),
    choice('failure', 'Failure class', values((one) => one.failure).map(([value]) => [value, words(value)]), apply),
    choice('under', 'Played under', values((one) => one.under), apply),
  ];
  return el('form', { role: 'search', class: 'filters', 'aria-label': 'Filters', on: { submit: (event) => event.preventDefault() } },
    box, choices);
}

function choice(name, label, options, apply) {
  if (options.length < 2 && name !== 'outcome') return null;
  const list = el('select', { id: `filter-${name}`, 'aria-label': label, on: { change: () => { state[name] = list.value; apply(); } } },
    el('option', { value: '' }, `${label}: all`),
    options.map(([value, text]) => el('option', { value }, text)));
  return list;
}

function setFilters(chosen, apply) {
  for (const name of Object.keys(state)) {
    state[name] = chosen[name] ?? '';
    const field = document.getElementById(name === 'query' ? 'query' : `filter-${name}`);
    if (field) field.value = state[name];
  }
  apply();
}
