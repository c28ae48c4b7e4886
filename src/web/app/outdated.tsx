import { isOutdated } from '../api/outdated.ts';
import { useStore } from '../api/store.ts';
import { reloadPage } from '../drafts/reload.ts';
import { Button } from '../ui/button.tsx';
import './outdated.css';

/**
 * Banner that is shown once the service was upgraded. The page does not reload by itself: the user may be reading, and a
 * reload that does not help would repeat forever. Unsent text survives the reload.
 */
export function Outdated() {
  const isShown = useStore(isOutdated);
  return (
    // The live region is rendered before its text, because text inserted with its region is not announced.
    <div className="outdated" role="status" aria-label="Version">
      {isShown && (
        <div className="outdated-banner">
          <span>A new version of the chat is available.</span>
          <Button kind="primary" onClick={() => void reloadPage()}>
            Reload
          </Button>
        </div>
      )}
    </div>
  );
}
