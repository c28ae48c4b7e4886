import type { ReactNode } from 'react';
import './header.css';

interface Props {
  readonly menu: ReactNode;
  readonly title: ReactNode;
  readonly detail?: ReactNode;
  /** What can be done with the place, on the right. */
  readonly children?: ReactNode;
}

/** What is shown below: its name, a word about it, and what can be done with it. */
export function Header({ menu, title, detail, children }: Props) {
  return (
    <header className="view-header">
      {menu}
      <div className="view-title">
        <h1>{title}</h1>
        {detail !== undefined && <div className="view-detail">{detail}</div>}
      </div>
      {children}
    </header>
  );
}
