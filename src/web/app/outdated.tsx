import { isOutdated } from '../api/outdated.ts';
import { useStore } from '../api/store.ts';
import { Button } from '../ui/button.tsx';
import './outdated.css';

/**
 * Says that the page is of before an upgrade, and stays. The page is not loaded anew by itself: somebody may be reading, and
 * if that is no help it would do so for ever. What was written is kept by the tab.
 */
export function Outdated() {
  const isShown = useStore(isOutdated);
  return (
    // It is there before there is anything in it: what comes with its words is not said.
    <div className="outdated" role="status" aria-label="Version">
      {isShown && (
        <div className="outdated-banner">
          <span>There is a new version of the chat.</span>
          <Button kind="primary" onClick={() => location.reload()}>
            Load it
          </Button>
        </div>
      )}
    </div>
  );
}
