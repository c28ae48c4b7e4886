import { useClient } from 'urql';
import { IconButton } from '../ui/button.tsx';
import { signOut } from './session.ts';

export function SignOut() {
  const client = useClient();
  return <IconButton icon="out" label="Sign out" onClick={() => void signOut(client)} />;
}
