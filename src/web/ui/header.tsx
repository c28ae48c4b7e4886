import type { ReactNode } from 'react';
import './header.css';

interface Props {
  readonly menu: ReactNode;
  readonly title: ReactNode;
  readonly detail?: ReactNode;
  /** Actions for the view, on the right. */
  readonly children?: ReactNode;
}

/** Header of a view: title, detail and actions. */
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
