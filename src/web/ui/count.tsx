/** A number of unread messages. Renders nothing for 0. @param of Word after the number, for screen readers. */
export function Count({ value, of = 'unread' }: { readonly value: number; readonly of?: string }) {
  if (value === 0) return null;
  return (
    <span className="count">
      {value > 999 ? '999+' : value}
      <span className="only-heard"> {of}</span>
    </span>
  );
}
