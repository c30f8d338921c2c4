/** Discovery for clients: version, groups, and the resources of each group. */
import { groupVersion, KINDS, type Kind } from './kinds.ts'
import type { Json } from './objects.ts'

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const GROUPS = [...new Set(KINDS.map((kind) => kind.group))].filter((group) => group !== '')

const groupEntry = (group: string): Json => {
  const version = { groupVersion: `${group}/v1`, version: 'v1' }
  return { name: group, versions: [version], preferredVersion: version }
}

function resources(kind: Kind): Json[] {
  const { kind: name, plural, namespaced, shortNames } = kind
  const singularName = name.toLowerCase()
  const sub = (subresource: string, subKind: string, verbs: string[], more: Json = {}) => ({
    name: `${plural}/${subresource}`,
    singularName: '',
    namespaced,
    ...more,
    kind: subKind,
    verbs,
  })
  const write = ['get', 'patch', 'update']
  return [
    { name: plural, singularName, namespaced, kind: name, verbs: VERBS, shortNames },
    ...(kind.status ? [sub('status', name, write)] : []),
    ...(kind.scale ? [sub('scale', 'Scale', write, { group: 'autoscaling', version: 'v1' })] : []),
    ...(name === 'Pod' ? [sub('log', 'Pod', ['get'])] : []),
    ...(name === 'ServiceAccount'
      ? [sub('token', 'TokenRequest', ['create'], { group: 'authentication.k8s.io', version: 'v1' })]
      : []),
  ]
}

/** The response for a discovery path; undefined for any other path. */
export function discover(path: string, address: string, version: string): Json | undefined {
  const [major, minor] = version.split('.')
  switch (path) {
    case '/version':
      return { major, minor, gitVersion: `v${version}.0`, platform: 'linux/amd64' }
    case '/api':
      return {
        kind: 'APIVersions',
        versions: ['v1'],
        serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
      }
    case '/apis':
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: GROUPS.map(groupEntry) }
  }
  const [, root, ...rest] = path.split('/')
  const name = rest.join('/')
  if (root === 'apis' && GROUPS.includes(name)) return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(name) }
  const kinds = KINDS.filter(
    (kind) =>
      groupVersion(kind) === name &&
      (kind.group === '' ? root === 'api' : root === 'apis') &&
      kind.since <= Number(minor),
  )
  if (kinds.length === 0) return undefined
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: name, resources: kinds.flatMap(resources) }
}
