import { Button } from './button.tsx';
import { reloadPage } from './reload.ts';
import './not-ready.css';

/** Error message that replaces a part of the page that failed to render. */
export function Broken({ retry }: { readonly retry: () => void }) {
  return (
    <div className="not-ready">
      <span role="alert">Something went wrong here.</span>
      <Button onClick={retry}>Try again</Button>
      <Button onClick={() => void reloadPage()}>Reload page</Button>
    </div>
  );
}
