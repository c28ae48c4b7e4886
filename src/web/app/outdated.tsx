import { isOutdated } from '../api/client.ts';
import { useStore } from '../base/store.ts';
import { Button } from '../ui/button.tsx';
import { reloadPage } from '../ui/reload.ts';
import './outdated.css';

/**
 * Banner that is shown once the service was upgraded. The page does not reload by itself: the user may be reading, and if a
 * reload did not help, the page would reload forever. Unsent text survives the reload.
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
