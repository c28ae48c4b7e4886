import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';
import { installWorker } from './app/install-worker.ts';
import { enterByFragment } from './routing/router.tsx';
import { renewSession } from './session/session.ts';
import { enterByStartAddress } from './session/start-address.ts';
import './ui/font.css';
import './ui/base.css';
import './ui/page.css';

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no element with the ID "root"');
await enterByStartAddress();
enterByFragment();
addEventListener('hashchange', enterByFragment);
// In a tab that already shows the page, opening a start URL changes only the fragment and loads no page. So its token is
// handled here.
addEventListener('hashchange', () => void enterByStartAddress().then((isEntered) => isEntered && renewSession()));
createRoot(root).render(<App />);
installWorker();
