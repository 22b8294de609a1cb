import { Lexer, type Token, type Tokens } from 'marked';
import type { ComponentChild, VNode } from 'preact';

/**
 * Draws Markdown as elements with text nodes. HTML in it is text, pictures are links, and only links to http and https are links. A text
 * that is nested too deep stays as it is.
 */

const MAX_LEVELS = 12;

/** The text as elements; undefined if it stays as it is. */
export function markdownOf(text: string): VNode | undefined {
  try {
    const tokens = new Lexer({ gfm: true }).lex(text).filter(({ type }) => type !== 'space');
    const [only] = tokens;
    if (tokens.length === 1 && only?.type === 'paragraph') return <p class="text">{inlineOf(only, 0)}</p>;
    return <div class="text markdown">{tokens.map((token) => blockOf(token, 0))}</div>;
  } catch {
    return undefined;
  }
}

type Draw = (token: Token, level: number) => ComponentChild;

/** The parts below a token. @throws RangeError when they are nested too deep */
function partsOf(token: Token, level: number, draw: Draw): ComponentChild[] {
  if (level > MAX_LEVELS) throw new RangeError('nested too deep');
  const parts = 'tokens' in token && token.tokens ? token.tokens : [];
  return parts.map((part) => draw(part, level + 1));
}

const inlineOf = (token: Token, level: number) => partsOf(token, level, inline);
const blocksOf = (token: Token, level: number) => partsOf(token, level, blockOf);

function blockOf(token: Token, level: number): ComponentChild {
  switch (token.type) {
    case 'heading':
      return <p class="heading">{inlineOf(token, level)}</p>;
    case 'paragraph':
      return <p>{inlineOf(token, level)}</p>;
    case 'code':
      return (
        <pre tabindex={0} aria-label="Code">
          <code>{textIn(token)}</code>
        </pre>
      );
    case 'blockquote':
      return <blockquote>{blocksOf(token, level)}</blockquote>;
    case 'list':
      return listOf(token as Tokens.List, level);
    case 'table':
      return tableOf(token as Tokens.Table, level);
    case 'hr':
      return <hr />;
    case 'space':
    case 'def':
    case 'checkbox':
      return null;
    case 'text':
      return 'tokens' in token && token.tokens ? <span>{inlineOf(token, level)}</span> : plain(token);
    case 'html':
      return <p class="raw-html">{token.raw.trimEnd()}</p>;
    default:
      return inline(token, level);
  }
}

function listOf({ ordered, start, items }: Tokens.List, level: number) {
  const rows = items.map((item) => (
    <li>
      {item.task && (item.checked ? '☑ ' : '☐ ')}
      {blocksOf(item, level)}
    </li>
  ));
  return ordered ? <ol start={Number(start) || 1}>{rows}</ol> : <ul>{rows}</ul>;
}

const MAX_CELLS = 2000;

function tableOf(table: Tokens.Table, level: number): ComponentChild {
  const { header, rows, raw } = table;
  if (header.length * rows.length > MAX_CELLS)
    return (
      <pre tabindex={0} aria-label="Table">
        {raw}
      </pre>
    );
  const cell = (Cell: 'td' | 'th') => (each: Tokens.TableCell) => (
    <Cell class={each.align ?? ''}>{each.tokens.map((token) => inline(token, level + 1))}</Cell>
  );
  return (
    <div class="table-scroll" role="region" aria-label="Table" tabindex={0}>
      <table>
        <thead>
          <tr>{header.map(cell('th'))}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>{row.map(cell('td'))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(token: Token, level: number): ComponentChild {
  switch (token.type) {
    case 'strong':
      return <strong>{inlineOf(token, level)}</strong>;
    case 'em':
      return <em>{inlineOf(token, level)}</em>;
    case 'del':
      return <del>{inlineOf(token, level)}</del>;
    case 'codespan':
      return <code>{textIn(token)}</code>;
    case 'br':
      return <br />;
    case 'link':
      return linkOf(token as Tokens.Link, level);
    case 'image':
      return pictureOf(token as Tokens.Image);
    case 'text':
    case 'escape':
      return plain(token);
    default:
      return token.raw;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  nbsp: '\u00a0',
};

/** The text of a token; the entities that people write for the characters of Markdown and HTML are these. */
const plain = (token: Token): string =>
  textIn(token).replaceAll(/&(amp|lt|gt|quot|#39|nbsp);/g, (all, name: string) => ENTITIES[name] ?? all);

const textIn = (token: Token): string => ('text' in token && typeof token.text === 'string' ? token.text : token.raw);

/** The address, if a browser may open it and would send it nowhere but to a web server. */
function webAddress(href: string): URL | undefined {
  if (!/^https?:\/\//i.test(href) || !URL.canParse(href)) return undefined;
  const address = new URL(href);
  return address.username === '' && address.password === '' ? address : undefined;
}

/** A link with its host beside it, unless its text is the address. Other schemes stay text. */
function linkOf(token: Tokens.Link, level: number): ComponentChild {
  const address = webAddress(token.href);
  if (!address) return token.raw;
  const isNamed = token.text !== token.href && token.text !== address.host;
  return (
    <>
      <a href={address.href} rel="noopener noreferrer nofollow" target="_blank">
        {inlineOf(token, level)}
      </a>{' '}
      {isNamed && <span class="soft host">({address.host})</span>}
    </>
  );
}

/** Nothing is loaded from another host: a picture is a link to it. */
function pictureOf({ href, text, raw }: Tokens.Image): ComponentChild {
  const address = webAddress(href);
  if (!address) return raw;
  return (
    <>
      <a href={address.href} rel="noopener noreferrer nofollow" target="_blank">
        Picture: {text || 'without a name'}
      </a>{' '}
      <span class="soft host">({address.host})</span>
    </>
  );
}
