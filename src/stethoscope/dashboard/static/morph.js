/* Make the inside of an element what markup says, and leave alone whatever is so already: parts that somebody
   opened, selected text, what was scrolled sideways and the focus stay, and the page does not jump. */
const OWN = ".plot"; // the report's script fills these, and nobody else

export function morph(element, markup) {
  const template = document.createElement("template");
  template.innerHTML = markup;
  settle(element, template.content);
}

function settle(have, want) {
  const wanted = [...want.childNodes], partners = paired([...have.childNodes], wanted);
  const kept = new Set(partners.values());
  for (const child of [...have.childNodes]) if (!kept.has(child)) child.remove();
  let next = have.firstChild;
  for (const one of wanted) {
    const known = partners.get(one);
    if (known) renew(known, one);
    if (known && known === next) next = next.nextSibling;
    else have.insertBefore(known || one, next); // what stands in its place is not moved, which would blur it
  }
}

/* For each wanted node the one that becomes it: by name, by what it says, and at last by its kind. */
function paired(old, wanted) {
  const partners = new Map(), free = new Set(old);
  for (const key of [nameOf, wordsOf, kindOf]) {
    const offered = new Map();
    for (const node of free) {
      const said = key(node);
      if (said) offered.set(said, [...(offered.get(said) || []), node]);
    }
    for (const node of wanted) {
      const found = !partners.has(node) && key(node) && (offered.get(key(node)) || []).shift();
      if (!found) continue;
      partners.set(node, found);
      free.delete(found);
    }
  }
  return partners;
}

function nameOf(node) {
  const name = node.nodeType === Node.ELEMENT_NODE && (node.id || node.dataset.chart || node.dataset.block);
  return name ? `${node.nodeName} ${name}` : "";
}

function wordsOf(node) {
  const said = node.nodeType === Node.ELEMENT_NODE && node.textContent;
  return said && kindOf(node) ? `${kindOf(node)} ${said}` : "";
}

function kindOf(node) {
  return nameOf(node) ? "" : node.nodeName; // who has a name becomes nobody else
}

function renew(have, want) {
  if (have.nodeType !== Node.ELEMENT_NODE) {
    if (have.nodeValue !== want.nodeValue) have.nodeValue = want.nodeValue;
    return;
  }
  for (const { name } of [...have.attributes]) if (!want.hasAttribute(name) && !isVisitors(have, name)) have.removeAttribute(name);
  for (const { name, value } of want.attributes) {
    if (have.getAttribute(name) !== value && !isVisitors(have, name)) have.setAttribute(name, value);
  }
  if (!have.matches(OWN)) settle(have, want);
}

/* Whether a part is open is up to who looks at it. */
function isVisitors(element, name) {
  return element.tagName === "DETAILS" && (name === "open" || name === "data-folded");
}
