import { Component, type ComponentChild, h } from 'preact';

/** A component that is rendered again only when one of its properties changes. */
export function memo<Props extends object>(draw: (props: Props) => ComponentChild) {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      for (const name in next) if (next[name] !== this.props[name]) return true;
      return false;
    }

    override render() {
      return h(draw, this.props);
    }
  };
}
