import { useEffect, useState } from 'react';
import { renewSession } from './session.ts';

/** A user of the demo. A browser that has opened the start URL can sign in as any such user. */
interface DemoPerson {
  readonly user_id: number;
  readonly full_name: string;
  readonly role: string;
}

const PEOPLE_PATH = '/start/people';
const SESSION_PATH = '/start/session';

/** List of the demo's users. A click on a user signs in as that user. Empty if the browser has not opened the start URL. */
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
      <h2>Explore the demo as</h2>
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
