import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';
import { renewSession } from './session/session.ts';
import { enterByStartAddress } from './session/start-address.ts';
import './ui/base.css';
import './ui/page.css';

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no root');
await enterByStartAddress();
// In the tab that is open already, only the fragment changes.
addEventListener('hashchange', () => void enterByStartAddress().then((isEntered) => isEntered && renewSession()));
createRoot(root).render(<App />);
