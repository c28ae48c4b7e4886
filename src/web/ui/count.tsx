interface Props {
  readonly value: number;
  /** Word after the number, for screen readers. */
  readonly of?: string;
  /** Whether the messages are for the viewer in person: direct messages and mentions. Only their number is colored. */
  readonly isPersonal?: boolean;
}

/** A number of unread messages. Renders nothing for 0. */
export function Count({ value, of = 'unread', isPersonal = false }: Props) {
  if (value === 0) return null;
  return (
    <span className="count" data-personal={isPersonal}>
      {value > 999 ? '999+' : value}
      <span className="only-heard"> {of}</span>
    </span>
  );
}
