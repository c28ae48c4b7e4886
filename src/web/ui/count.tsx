/** How many are unread. @param of What is counted, for the ear. */
export function Count({ value, of = 'unread' }: { readonly value: number; readonly of?: string }) {
  if (value === 0) return null;
  return (
    <span className="count">
      {value > 999 ? '999+' : value}
      <span className="only-heard"> {of}</span>
    </span>
  );
}
