// Elements are made here and nowhere else. Text becomes text: no markup is ever parsed.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Co}\p{Default_Ignorable_Code_Point}]/gu;

// What cannot be seen, or would rearrange what can, is written out and marked.
function escape(character) {
  const code = character.codePointAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}`
    : code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}`
    : `\\U${code.toString(16).padStart(8, '0')}`;
}

function shown(text) {
  const fragment = document.createDocumentFragment();
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match[0] === '\n' || match[0] === '\t') continue;
    fragment.append(text.slice(end, match.index), el('span', { class: 'escape', plain: escape(match[0]) }));
    end = match.index + match[0].length;
  }
  fragment.append(text.slice(end));
  return fragment;
}

// el('p', { class: 'note' }, 'text', node): null children are left out, `on` holds listeners, `plain` is our own text.
function el(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
    else if (name === 'plain') element.textContent = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : shown(String(child)));
  }
  return element;
}

function replaceChildren(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
}

const number = new Intl.NumberFormat('en-US');
const percent = (share) => `${(100 * share).toFixed(1)}%`;
const plural = (count, one, many = `${one}s`) => `${number.format(count)} ${count === 1 ? one : many}`;
const words = (name) => name.replaceAll('_', ' ');
