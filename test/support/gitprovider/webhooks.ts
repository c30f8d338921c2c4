/** Webhooks of the stand-in: the provider's example payloads, filled in, signed and delivered. */
import { createHmac, randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import * as shapes from './shapes.ts'
import type { FakeInstallation, FakeRepository, World } from './world.ts'

type Payload = Record<string, unknown>
const examples = createRequire(import.meta.url)('@octokit/webhooks-examples') as {
  name: string
  examples: Payload[]
}[]

/** The recorded examples of an event. */
export function recorded(event: string): Payload[] {
  return structuredClone(examples.find(({ name }) => name === event)?.examples ?? [])
}

const NO_COMMIT = '0'.repeat(40)

export interface Push {
  /** `main`, or a full ref: `refs/tags/v1`. */
  branch: string
  /** null: the branch was deleted. */
  after: string | null
  before?: string | null
  /** The payload's `repository.pushed_at`; default: now. */
  pushedAt?: Date
}

export function pushPayload(world: World, repo: FakeRepository, installed: FakeInstallation, push: Push): Payload {
  const example = recorded('push').find((payload) => payload.installation)!
  const ref = push.branch.startsWith('refs/') ? push.branch : `refs/heads/${push.branch}`
  const seconds = Math.floor((push.pushedAt ?? new Date()).getTime() / 1000)
  return {
    ...example,
    ref,
    before: push.before ?? NO_COMMIT,
    after: push.after ?? NO_COMMIT,
    created: !push.before,
    deleted: push.after === null,
    forced: false,
    head_commit: push.after ? { ...(example.head_commit as Payload), id: push.after } : null,
    repository: {
      ...(example.repository as Payload),
      ...shapes.repository(world, repo),
      url: repo.url.replace(/\.git$/, ''),
      created_at: seconds,
      pushed_at: seconds,
    },
    installation: { ...(example.installation as Payload), id: installed.id },
  }
}

const brief = (repo: FakeRepository) => ({
  id: repo.id,
  node_id: `R_${repo.id}`,
  name: repo.name,
  full_name: repo.fullName,
  private: repo.private,
})

export type InstallationAction = 'created' | 'deleted' | 'suspend' | 'unsuspend' | 'new_permissions_accepted'

export function installationPayload(world: World, installed: FakeInstallation, action: InstallationAction): Payload {
  const example = recorded('installation').find((payload) => payload.action === action)!
  return {
    ...example,
    installation: { ...(example.installation as Payload), ...shapes.installation(world, installed) },
    repositories: installed.repositories.map(brief),
  }
}

export function repositoriesPayload(
  world: World,
  installed: FakeInstallation,
  { added = [], removed = [] }: { added?: FakeRepository[]; removed?: FakeRepository[] },
): Payload {
  const action = added.length > 0 ? 'added' : 'removed'
  const example = recorded('installation_repositories').find((payload) => payload.action === action)!
  return {
    ...example,
    installation: { ...(example.installation as Payload), ...shapes.installation(world, installed) },
    repositories_added: added.map(brief),
    repositories_removed: removed.map(brief),
  }
}

export interface Delivery {
  /** id of the delivery; default: a new one. */
  id?: string
  /** null: no signature is sent. */
  signature?: string | null
}

export function signatureOf(secret: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

export async function deliver(
  secret: string,
  url: string,
  event: string,
  payload: unknown,
  { id = randomUUID(), signature }: Delivery = {},
): Promise<Response> {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const signed = signature === undefined ? signatureOf(secret, body) : signature
  return await fetch(url, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/044aadd',
      'x-github-event': event,
      'x-github-delivery': id,
      ...(signed === null ? {} : { 'x-hub-signature-256': signed }),
    },
  })
}
