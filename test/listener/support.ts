/**
 * Helpers for listener tests: a real server with a listener and its key, a readable log, and a recording runtime. So a
 * test covers the path between control plane and runtime.
 */
import { randomUUID } from 'node:crypto'
import { createLogger } from '../../src/app/logger.ts'
import type { RevisionLog, RevisionStep, Runtime } from '../../src/dataplane/runtimes/runtime.ts'
import type { Health, Run } from '../../src/domain/protocol/protocol.ts'
import { readListenerSettings } from '../../src/platform/config/listener-settings.ts'
import { newKey, type TestApp } from '../support/app.ts'
import { imageDeployment } from '../support/factories.ts'

/** The real log in memory, at its most verbose level. */
export function readableLog() {
  const lines: string[] = []
  return { log: createLogger('debug', { write: (line) => lines.push(line) }), lines, text: () => lines.join('') }
}

/** A listener of workspace A for one namespace, created through the API, with its key. */
export async function registered(app: TestApp, namespace = 'agents'): Promise<{ listenerId: string; key: string }> {
  const { status, body, text } = await app.rest('POST', '/v2/listeners', {
    body: {
      compute_type: 'k8s',
      compute_id: `cluster-${randomUUID()}`,
      compute_config: { k8s_namespaces: [namespace] },
    },
  })
  if (status !== 201) throw new Error(text)
  const listenerId: string = body.id
  return { listenerId, key: await newKey(app.app.core, { ...app.tenant, role: 'listener', listenerId }) }
}

/** Settings of a listener for tests; `over`: environment variables that override them. */
export function settingsFor(url: string, listener: { listenerId: string; key: string }, over = {}) {
  return readListenerSettings({
    CONTROL_PLANE_URL: url,
    CONTROL_PLANE_API_KEY: listener.key,
    LISTENER_ID: listener.listenerId,
    LISTENER_HOST: '127.0.0.1',
    LISTENER_PORT: '0',
    LEASE_SECONDS: '6',
    ...over,
  })
}

/** Creates a deployment of an image for this listener. Returns the REST response. */
export function deploymentOn(app: TestApp, listenerId: string, overrides: object = {}) {
  return imageDeployment(app, {
    source_config: { listener_id: listenerId, listener_config: { k8s_namespace: 'agents' } },
    ...overrides,
  })
}

export interface RecordingRuntime extends Runtime {
  /** `provision <deployment>`, `deploy <revision>`, `teardown <deployment>`, in call order */
  asked: string[]
  /** desired served revisions by deployment, as far as this replica holds them */
  serving: Map<string, Run | null>
  /** arguments of each DEPLOY, by revision */
  deployed: Map<string, RevisionStep>
  /** health of every deployment */
  healthy: Health
  /** a deploy rejects or waits if this does */
  deploying(step: RevisionStep, log: RevisionLog, signal: AbortSignal): Promise<void>
}

export function recordingRuntime(): RecordingRuntime {
  const runtime: RecordingRuntime = {
    asked: [],
    serving: new Map(),
    deployed: new Map(),
    healthy: { ready: 1, desired: 1, message: null },
    deploying: async () => {},
    async provision(claim) {
      runtime.asked.push(`provision ${claim.deployment.id}`)
    },
    async build() {
      throw new Error('nothing is built here')
    },
    async deploy(_claim, step, log, signal) {
      runtime.asked.push(`deploy ${step.revision.id}`)
      runtime.deployed.set(step.revision.id, step)
      log.write('deploy', `deploying ${step.revision.imageUri}`)
      await runtime.deploying(step, log, signal)
      return {
        url: 'http://agent.example.com',
        imageVersion: '1',
        commit: async (record) => void (await record()),
        discard: async () => {},
      }
    },
    async teardown(claim) {
      runtime.asked.push(`teardown ${claim.deployment.id}`)
    },
    async destroy() {},
    ensure(claim, run) {
      runtime.serving.set(claim.deployment.id, run)
    },
    async prune() {},
    async drop(deploymentId) {
      runtime.serving.delete(deploymentId)
    },
    health: (deploymentId) => (runtime.serving.get(deploymentId) ? runtime.healthy : undefined),
    registerHolder: async () => async () => {},
    async releaseDeadHolders() {},
    async close() {},
  }
  return runtime
}
