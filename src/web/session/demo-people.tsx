import { useEffect, useState } from 'react';
import { renewSession } from './session.ts';

/** Whom a browser that opened the start address can sign in as. */
interface DemoPerson {
  readonly user_id: number;
  readonly full_name: string;
  readonly role: string;
}

const PEOPLE_PATH = '/start/people';
const SESSION_PATH = '/start/session';

/** One click signs in as anybody of the demo: for browsers that opened the start address. Others see nothing of it. */
export function DemoPeople() {
  const [people, setPeople] = useState<readonly DemoPerson[]>([]);
  useEffect(() => {
    const gone = new AbortController();
    readPeople(gone.signal).then(setPeople, () => undefined);
    return () => gone.abort();
  }, []);
  if (people.length === 0) return null;
  const enter = async (id: number) => {
    const body = new URLSearchParams({ user_id: String(id) });
    const answer = await fetch(SESSION_PATH, { method: 'POST', body });
    if (answer.ok) renewSession();
  };
  return (
    <section className="demo-people" aria-label="The demo">
      <h2>Look around the demo as</h2>
      <ul>
        {people.map(({ user_id, full_name, role }) => (
          <li key={user_id}>
            <button type="button" className="demo-person" onClick={() => void enter(user_id)}>
              <strong>{full_name}</strong> <span>{role}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

async function readPeople(signal: AbortSignal): Promise<readonly DemoPerson[]> {
  const answer = await fetch(PEOPLE_PATH, { signal });
  if (!answer.ok) return [];
  const { people } = (await answer.json()) as { readonly people: readonly DemoPerson[] };
  return people;
}
