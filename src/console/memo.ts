import { Component, type ComponentChild, h } from 'preact';

/** A component that is rendered again only when one of its properties changes. */
export function memo<Props extends object>(draw: (props: Props) => ComponentChild) {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      const before = this.props as Readonly<Record<string, unknown>>;
      return Object.entries(next).some(([name, value]) => before[name] !== value);
    }

    override render() {
      return h(draw, this.props);
    }
  };
}
