// The list of episodes. Only the rows that can be seen are in the page, however many there are.

const ROW_HEIGHT = 60;
const SPARE_ROWS = 6;

function episodeList(open, read) {
  const spacer = el('div', { class: 'spacer', role: 'presentation' });
  const box = el('div', {
    id: 'list', class: 'list', role: 'listbox', tabindex: '0', 'aria-label': 'Episodes',
    'aria-describedby': 'keys',
  }, spacer);
  let found = [];
  let active = -1;

  function draw() {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW_HEIGHT) - SPARE_ROWS);
    const last = Math.min(found.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW_HEIGHT) + SPARE_ROWS);
    const options = [];
    for (let at = first; at < last; at += 1) options.push(option(at));
    replaceChildren(spacer, options);
    const isDrawn = active >= first && active < last;
    if (isDrawn) box.setAttribute('aria-activedescendant', `row-${active}`);
    else box.removeAttribute('aria-activedescendant');
  }

  function option(at) {
    const element = el('div', {
      id: `row-${at}`, class: 'row', role: 'option', 'aria-selected': String(at === active),
      'aria-posinset': at + 1, 'aria-setsize': found.length, on: { click: () => choose(at) },
    }, rowContent(found[at]));
    element.style.top = `${at * ROW_HEIGHT}px`;
    return element;
  }

  function choose(at) {
    if (!found.length) return;
    active = Math.max(0, Math.min(found.length - 1, at));
    const top = active * ROW_HEIGHT;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + ROW_HEIGHT > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW_HEIGHT - box.clientHeight;
    draw();
    open(found[active]);
  }

  const page = () => Math.max(1, Math.floor(box.clientHeight / ROW_HEIGHT) - 1);
  const moves = {
    ArrowDown: () => active + 1, ArrowUp: () => active - 1, Home: () => 0, End: () => found.length - 1,
    PageDown: () => active + page(), PageUp: () => active - page(),
  };
  box.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key in moves) choose(moves[event.key]());
    else if (event.key === 'Enter' || event.key === 'ArrowRight') read();
    else return;
    event.preventDefault();
  });
  let isWaiting = false;
  box.addEventListener('scroll', () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => { isWaiting = false; draw(); });
  });
  new ResizeObserver(draw).observe(box);

  return {
    box,
    show(list, row) {
      found = list;
      active = found.indexOf(row);
      spacer.style.height = `${found.length * ROW_HEIGHT}px`;
      if (active < 0) box.scrollTop = 0;
      if (active < 0 && found.length) active = 0;
      if (found.length) choose(active);
      else draw();
    },
  };
}

function rowContent(row) {
  const one = row.first;
  const about = [one.category, shortDomains(one)];
  const parts = isComparison ? [CHANGES[row.change], ...about] : [...about, one.failure && words(one.failure)];
  return [
    el('span', { class: 'marks' }, row.episodes.map((episode, run) => mark(episode, run))),
    el('span', { class: 'name' }, one.id, one.sample ? el('span', { class: 'sample' }, ` #${one.sample}`) : null),
    el('span', { class: 'pips', 'aria-hidden': 'true' }, row.episodes.map((episode) => pips(episode))),
    el('span', { class: 'about' }, parts.filter(Boolean).join(' · ')),
  ];
}

function mark(episode, run) {
  const kind = episode === null ? 'absent' : episode.solved ? 'solved' : 'failed';
  const sign = { absent: '–', solved: '✓', failed: '✗' }[kind];
  const name = { absent: 'not played', solved: 'solved', failed: 'failed' }[kind];
  return el('span', { class: `mark ${kind}`, role: 'img', 'aria-label': isComparison ? `${LETTERS[run]} ${name}` : name }, sign);
}

// A pip for each turn: passed, failed, not finished.
function pips(episode) {
  const kinds = { 1: 'passed', 0: 'failed', '-': 'open' };
  return el('span', { class: 'pip-line' }, [...(episode?.pips ?? '')].map((one) => el('i', { class: kinds[one] })));
}

function shortDomains(episode) {
  return (episode.domains ?? []).map((name) => name.replace(/API$/, '')).join(', ');
}
