import { Component, type ReactNode } from 'react';

interface Props {
  readonly children: ReactNode;
  /** Returns the content after an error. @param retry Renders the children again. */
  readonly fallback: (retry: () => void) => ReactNode;
  /**
   * A value that identifies the children. If it changes, the children are rendered again after an error, because they may no
   * longer contain the component that failed.
   */
  readonly resetKey?: unknown;
}

interface State {
  readonly hasFailed: boolean;
}

/** Confines a rendering error to its children, and shows `fallback` instead of them. */
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
