// Opens ports of a door without a keeper.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { CallerTokens, keyOfFolder } from '../../src/door/caller-tokens.ts'
import { Guard } from '../../src/door/guard.ts'
import type { Tenant } from '../../src/door/listener.ts'
import { Listeners } from '../../src/door/listeners.ts'

/** A guard that knows of no rules. */
export function newGuard(): { guard: Guard; tokens: CallerTokens } {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-guard-'))
  const tokens = new CallerTokens(keyOfFolder(folder))
  fs.rmSync(folder, { recursive: true })
  return { guard: new Guard(tokens), tokens }
}

/** Ports of a door that lets everybody in to the deployments with these ids. The host of an id's custom_url is `ID.example.com`. */
export function openListeners(...ids: string[]): Listeners {
  const { guard } = newGuard()
  const about = { name: null, workspace: 'w', organization: 'o', access: 'public' } as const
  const deployments = ids.map((id) => ({ id, ...about, host: `${id}.example.com` }))
  const copy = { deployments, keys: [], sessions: [], linkKeys: [] }
  guard.set(copy, {
    issuer: 'http://us',
    hosts: '{name}.localhost',
    secure: false,
    trustProxy: ['127.0.0.0/8'],
    offlineHours: 24,
    jwt: null,
  })
  return new Listeners(guard)
}

/** Resolves with what ends the deployment, once the port is open. Its keeper may return. */
export async function openPort(
  place: Tenant['place'],
  proxy: Tenant['proxy'],
  listeners = openListeners(place.name ?? 'only'),
): Promise<() => void> {
  return new Promise((resolve) => {
    const tenant: Tenant = {
      deployment: place.name ?? 'only',
      place,
      proxy,
      onListening(_port, problem) {
        if (problem === null) resolve(() => listeners.remove(listener, tenant, true))
      },
    }
    const listener = listeners.add(tenant)
  })
}
