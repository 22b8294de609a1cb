import { Component, type ComponentChild, h } from 'preact';

/** Whether another object has all values of this one. Nested objects must be the same, not only equal. */
export function hasSameValues<Values extends object>(next: Readonly<Values>, before: Readonly<Values>): boolean {
  for (const name in next) if (next[name] !== before[name]) return false;
  return true;
}

/** A component that is rendered again only when one of its properties changes. */
export function memo<Props extends object>(draw: (props: Props) => ComponentChild) {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      return !hasSameValues(next, this.props);
    }

    override render() {
      return h(draw, this.props);
    }
  };
}
