import { Component, type ReactNode } from 'react';

interface Props {
  readonly children: ReactNode;
  /** Returns the content after an error. @param retry Renders the children again. */
  readonly fallback: (retry: () => void) => ReactNode;
  /** If the value changes, the children are rendered again, because the part that failed may be gone. */
  readonly resetKey?: unknown;
}

interface State {
  readonly hasFailed: boolean;
}

/** Limits a rendering error of its children to a part of the page, which then shows `fallback`. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { hasFailed: false };

  static getDerivedStateFromError(): State {
    return { hasFailed: true };
  }

  override componentDidUpdate(before: Props): void {
    if (this.state.hasFailed && before.resetKey !== this.props.resetKey) this.setState({ hasFailed: false });
  }

  override render(): ReactNode {
    return this.state.hasFailed ? this.props.fallback(() => this.setState({ hasFailed: false })) : this.props.children;
  }
}
