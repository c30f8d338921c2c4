/** Opens a cluster: connects credentials, API calls, informers and their store. */
import type { V1EndpointSlice, V1Pod } from '@kubernetes/client-node'
import { Api } from '../api-server/api.ts'
import { ApiRefused } from '../api-server/errors.ts'
import { ENDPOINTS, kindOf } from '../api-server/kinds.ts'
import { retrying } from '../api-server/retry.ts'
import { DEFAULT_TIMES } from '../api-server/times.ts'
import { Informers } from '../informers/informers.ts'
import { type ClusterAccess, Store } from '../informers/store.ts'
import type { LiveObject } from '../objects/types.ts'
import { Anchors } from './anchors.ts'
import { apply, writeToken } from './apply.ts'
import type { Cluster, ClusterOptions } from './cluster.ts'
import { warnings } from './events.ts'
import { followLog } from './follow-log.ts'
import { readOnce } from './read.ts'
import { remove } from './remove.ts'

/** Rejects when the kubeconfig is unreadable or names no cluster. The API server may be unavailable. */
export async function connectCluster(options: ClusterOptions): Promise<Cluster> {
  const times = { ...DEFAULT_TIMES, ...options.times }
  const store = new Store()
  const api = new Api({
    kubeconfig: options.kubeconfig,
    callsAtATime: options.callsAtATime ?? 16,
    callMs: times.call,
    silenceMs: times.silence,
    onTimeout: () => informers.renew(),
  })
  const isCurrent: ClusterAccess['isCurrent'] = (ref) => informers.isCurrent(ref.namespace, kindOf(ref))
  const access: ClusterAccess = { api, store, times, isCurrent }
  const informers = new Informers(access, options.log)
  const anchors = new Anchors(access)

  let minor: number | null = null
  async function readVersion(): Promise<void> {
    if (minor !== null) return
    const call = () => api.call<{ minor?: string }>({ method: 'GET', path: '/version', action: 'read its version' })
    try {
      // some providers return `32+`
      minor = Number.parseInt((await retrying(times, call)).minor ?? '', 10) || 0
    } catch (error) {
      if (!(error instanceof ApiRefused)) throw error
      minor = 0
    }
  }

  return {
    async open(namespace, signal) {
      await Promise.all([informers.open(namespace, signal), readVersion()])
    },
    minor: () => minor ?? 0,
    objects: (deploymentId) =>
      store.byDeployment(deploymentId).filter((object) => !isPod(object) && !isEndpoints(object)),
    observed: (ref) => store.get(ref),
    // raw JSON of the API: times are strings, although V1Pod declares Dates
    pods: (deploymentId) => store.byDeployment(deploymentId).filter(isPod) as unknown as V1Pod[],
    endpoints: (namespace, deploymentId) =>
      informers.isCurrent(namespace, ENDPOINTS)
        ? (store.byDeployment(deploymentId).filter(isEndpoints) as unknown as V1EndpointSlice[])
        : null,
    refused: (namespace) => informers.refused(namespace),
    onChange: (listener) => store.onChange(listener),
    read: (ref) => retrying(times, () => readOnce(access, ref)),
    apply: (manifest, fence) => apply(access, anchors, manifest, fence),
    writeToken: (ref, fence) => writeToken(access, ref, fence),
    remove: (object, fence, propagation = 'background') => remove(access, object, fence, propagation),
    warnings: (namespace, uid) => warnings(access, namespace, uid),
    followLog: (pod, container, options, onLine, signal) =>
      followLog(access, { pod, container }, options, onLine, signal),
    problem: () => informers.problem(),
    async close() {
      informers.close()
      api.close()
    },
  }
}

const isPod = ({ kind }: LiveObject) => kind === 'Pod'
const isEndpoints = ({ kind }: LiveObject) => kind === ENDPOINTS.kind
