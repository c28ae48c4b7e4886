import type { ReactNode } from 'react';
import './header.css';

interface Props {
  readonly menu: ReactNode;
  readonly title: ReactNode;
  readonly detail?: ReactNode;
  /** Color of a line at the side of the header. */
  readonly color?: string | undefined;
  /** Actions for the view, on the right. */
  readonly children?: ReactNode;
}

/** Header of a view: title, detail and actions. */
export function Header({ menu, title, detail, color, children }: Props) {
  return (
    <header className="view-header" style={color === undefined ? undefined : { boxShadow: `inset 3px 0 0 ${color}` }}>
      {menu}
      <div className="view-title">
        <h1>{title}</h1>
        {detail !== undefined && <div className="view-detail">{detail}</div>}
      </div>
      {children}
    </header>
  );
}
