/** The address of a deployment: Service, Ingress, reported URL, and the version label of an image. */
import { describe, expect, test } from 'vitest'
import type { DeploymentRef, Manifest, RenderOptions } from '../../src/dataplane/kubernetes/objects/types.ts'
import { renderApplication } from '../../src/dataplane/kubernetes/render/manifests.ts'
import { customUrlOf, urlOf } from '../../src/dataplane/kubernetes/render/public-route.ts'
import { imageVersion } from '../../src/dataplane/runtimes/artifact.ts'
import { application, deployment, find, keyOf, options, render, revision, schemaErrors } from './render-support.ts'

const ingressOf = (customUrl: string | null, how: Partial<RenderOptions> = {}) => {
  const manifests = render({}, { customUrl }, how)
  expect(manifests.flatMap(schemaErrors)).toEqual([])
  return manifests.map(keyOf).includes('Ingress/') ? find(manifests, 'Ingress/').spec : null
}
const hostIn = (by: DeploymentRef, how: Partial<RenderOptions>) =>
  find(renderApplication(by, application(), { ...options, ...how }, {}), 'Ingress/').spec.rules[0].host
const url = (customUrl: string | null, how: Partial<RenderOptions> = {}) =>
  urlOf(deployment, customUrl, { ...options, ...how })

const BASE = `ph-${deployment.deploymentId}`
const backend = { service: { name: BASE, port: { number: 80 } } }
const rule = (host: string, path = '/') => ({ host, http: { paths: [{ path, pathType: 'Prefix', backend }] } })

test('a deployment without a domain and custom URL has a cluster-internal address', () => {
  const manifests = render()
  expect(manifests.map(keyOf)).not.toContain('Ingress/')
  expect(url(null)).toBe(`http://${BASE}.agents.svc`)
  expect(find(manifests, 'Service/').spec).toEqual({
    type: 'ClusterIP',
    selector: { 'app.kubernetes.io/component': 'server', 'pilothouse.dev/deployment-id': deployment.deploymentId },
    ports: [{ name: 'http', port: 80, targetPort: 8000, protocol: 'TCP' }],
  })
})

test('with an ingress domain, the host consists of the deployment’s name and id', () => {
  const how = { ingressDomain: 'apps.example.com', ingressClass: 'nginx' }
  const host = 'support-bot-0b0e3f8e.apps.example.com'
  expect(ingressOf(null, how)).toEqual({ ingressClassName: 'nginx', rules: [rule(host)] })
  expect(url(null, how)).toBe(`http://${host}`)
  const secured = { ...how, ingressTlsSecret: 'wildcard' }
  expect(ingressOf(null, secured).tls).toEqual([{ hosts: [host], secretName: 'wildcard' }])
  expect(url(null, secured)).toBe(`https://${host}`)
})

test('an Ingress has its own annotations, which override those of all objects', () => {
  const spec = { annotations: { all: 'a', both: 'a' }, ingress_annotations: { both: 'i', own: 'i' } }
  const ingressAnnotations = { issuer: 's', all: 's', own: 's' }
  const manifests = render(spec, {}, { ingressDomain: 'example.com', ingressAnnotations })
  const annotationsOf = (key: string) => find(manifests, key).metadata.annotations
  expect(annotationsOf('Ingress/')).toMatchObject({ issuer: 's', all: 'a', both: 'i', own: 'i' })
  expect(annotationsOf('Service/')).toMatchObject({ all: 'a', both: 'a' })
  expect(annotationsOf('Service/')).not.toHaveProperty('own')
})

test('a deployment at the door has its address there, and never an Ingress, which would lead past the door', () => {
  const named = { ...deployment, addressName: 'support-bot' }
  const how = { ingressDomain: 'ingress.example.com', appsUrl: 'https://{name}.apps.example.com' }
  for (const customUrl of [null, 'https://bot.example.com']) {
    const app = application({}, { customUrl, revision: { ...revision, source: 'external_container' } })
    const kinds = (more: Partial<RenderOptions>) =>
      renderApplication(named, app, { ...options, ...more }, {}).map(({ kind }) => kind)
    expect(kinds(how)).not.toContain('Ingress')
    // the door was turned off
    expect(kinds({ ...how, appsUrl: null })).not.toContain('Ingress')
    expect(urlOf(named, customUrlOf(app), { ...options, ...how })).toBe('https://support-bot.apps.example.com')
  }
})

test('the Ingress of a custom URL leads to the door, which is in another namespace', () => {
  const named = { ...deployment, addressName: 'support-bot' }
  const how = {
    ...{ ...options, ingressDomain: 'ingress.example.com', appsUrl: 'https://{name}.apps.example.com' },
    doorService: { host: 'pilothouse-door.control.svc.cluster.local', port: 81 },
  }
  const external = { ...revision, source: 'external_container' as const }
  const app = application({}, { customUrl: 'https://bot.example.com', revision: external })
  const manifests = renderApplication(named, app, how, {})
  expect(manifests.flatMap(schemaErrors)).toEqual([])
  const service = { name: `${BASE}-door`, port: { number: 81 } }
  expect(find(manifests, 'Ingress/').spec.rules).toEqual([
    { host: 'bot.example.com', http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service } }] } },
  ])
  expect(manifests.find(({ metadata }) => metadata.name === service.name)?.spec).toMatchObject({
    type: 'ExternalName',
    externalName: 'pilothouse-door.control.svc.cluster.local',
    ports: [{ port: 81 }],
  })
  // the custom URL is shown instead of it
  expect(urlOf(named, customUrlOf(app), how)).toBe('https://support-bot.apps.example.com')
  const plain = renderApplication(named, application(), how, {})
  expect(plain.filter(({ kind, metadata }) => kind === 'Ingress' || metadata.name === service.name)).toEqual([])
})

describe('with a Gateway', () => {
  const gateway = { namespace: 'gateways', name: 'public' }
  const routeOf = (manifests: Manifest[]) => {
    expect(manifests.flatMap(schemaErrors)).toEqual([])
    expect(manifests.map(({ kind }) => kind)).not.toContain('Ingress')
    return find(manifests, 'HTTPRoute/')
  }

  test('a deployment has an HTTPRoute instead of an Ingress, and an https address', () => {
    const how = { gateway, ingressDomain: 'example.com', ingressAnnotations: { issuer: 's' } }
    const { metadata, spec } = routeOf(render({ ingress_annotations: { own: 'i' } }, {}, how))
    expect(metadata.annotations).toMatchObject({ issuer: 's', own: 'i' })
    expect(spec).toEqual({
      parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...gateway }],
      hostnames: ['support-bot-0b0e3f8e.example.com'],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: '/' } }],
          backendRefs: [{ group: '', kind: 'Service', name: BASE, port: 80, weight: 1 }],
        },
      ],
    })
    expect(url(null, how)).toBe('https://support-bot-0b0e3f8e.example.com')
    expect(render({}, {}, { gateway }).map(keyOf)).not.toContain('HTTPRoute/')
  })

  test('a custom URL sets host and path of the HTTPRoute', () => {
    const { spec } = routeOf(render({}, { customUrl: 'http://Bot.example.com/a/' }, { gateway }))
    expect(spec.hostnames).toEqual(['bot.example.com'])
    expect(spec.rules[0].matches).toEqual([{ path: { type: 'PathPrefix', value: '/a' } }])
  })

  test('of a deployment behind the door, a custom URL leads to the door’s Service, without an ExternalName', () => {
    const named = { ...deployment, addressName: 'support-bot' }
    const doorService = { host: 'pilothouse-door.control.svc.cluster.local', port: 81 }
    const how = { ...options, gateway, doorService, appsUrl: 'https://{name}.apps.example.com' }
    const external = { ...revision, source: 'external_container' as const }
    const app = application({}, { customUrl: 'https://bot.example.com', revision: external })
    const manifests = renderApplication(named, app, how, {})
    expect(routeOf(manifests).spec.rules[0].backendRefs).toEqual([
      { group: '', kind: 'Service', name: 'pilothouse-door', namespace: 'control', port: 81, weight: 1 },
    ])
    expect(manifests.map(({ metadata }) => metadata.name)).not.toContain(`${BASE}-door`)
    const plain = renderApplication(named, application(), how, {})
    expect(plain.map(({ kind }) => kind)).not.toContain('HTTPRoute')
  })
})

describe('a custom URL', () => {
  test('a custom URL sets host and path, and TLS for https', () => {
    expect(ingressOf('http://Bot.Example.com:8080/a/b/?q')).toEqual({ rules: [rule('bot.example.com', '/a/b')] })
    expect(ingressOf('https://bot.example.com')).toEqual({
      tls: [{ hosts: ['bot.example.com'] }],
      rules: [rule('bot.example.com')],
    })
    expect(url('https://bot.example.com/x/')).toBe('https://bot.example.com/x/')
  })

  test('a custom URL with the host of a name gets no Ingress, which would get the requests to another deployment', () => {
    const how = { appsUrl: 'https://{name}.apps.example.com' }
    expect(ingressOf('https://other.apps.example.com/x', how)).toBeNull()
    expect(ingressOf('https://bot.example.com', how)).not.toBeNull()
  })

  test('a custom URL gets the domain’s TLS secret only within that domain', () => {
    const how = { ingressDomain: 'example.com', ingressTlsSecret: 'wildcard' }
    expect(ingressOf('https://bot.example.com', how).tls).toEqual([
      { hosts: ['bot.example.com'], secretName: 'wildcard' },
    ])
    expect(ingressOf('https://bot.example.org', how).tls).toEqual([{ hosts: ['bot.example.org'] }])
    expect(ingressOf('https://badexample.com', how).tls).toEqual([{ hosts: ['badexample.com'] }])
    expect(ingressOf('http://bot.example.com', how).tls).toBeUndefined()
    const general = { ingressTlsSecret: 'general' }
    expect(ingressOf('https://bot.example.org', general).tls[0].secretName).toBe('general')
  })

  test('a custom URL has its own certificate when each deployment has its own TLS secret', () => {
    const how = { ingressDomain: 'example.com', ingressTlsSecret: 'tls-{deployment}' }
    const secretName = 'tls-support-bot-0b0e3f8e'
    const hosts = ['bot.example.org', 'bot.example.com', null]
    for (const host of hosts)
      expect(ingressOf(host && `https://${host}`, how).tls).toEqual([
        { hosts: [host ?? 'support-bot-0b0e3f8e.example.com'], secretName },
      ])
    expect(ingressOf('http://bot.example.org', how).tls).toBeUndefined()
  })

  test.each(['http://192.0.2.1/', 'https://[2001:db8::1]:8443/x'])(
    'a custom URL with an IP address (%s) gets no Ingress',
    (given) => {
      expect(ingressOf(given, { ingressDomain: 'example.com' })).toBeNull()
      expect(url(given)).toBe(given)
    },
  )

  test('a custom URL is a URL that the user chose, not one that an earlier deploy reported', () => {
    const customUrl = `http://${BASE}.agents.svc`
    for (const source of ['internal_container', 'gitprovider', 'internal_source'] as const) {
      const app = {
        customUrl,
        revision: { ...revision, source, artifact: 'image:registry.example.com/acme/agent@sha256:0' },
      }
      expect(customUrlOf(app)).toBeNull()
      expect(render({}, app).map(keyOf)).not.toContain('Ingress/')
      const host = find(render({}, app, { ingressDomain: 'example.com' }), 'Ingress/').spec.rules[0].host
      expect(host).toBe('support-bot-0b0e3f8e.example.com')
    }
  })
})

test.each([
  ['Grüße, Ärger & Co.', 'gru-e-arger-co'],
  ['😀🎉', 'agent'],
  ['../../etc/passwd', 'etc-passwd'],
  ['ÅNGSTRÖM', 'angstrom'],
  ['7up', '7up'],
  ['xn--80ak6aa92e', 'xn-80ak6aa92e'],
  [`${'a'.repeat(53)}-b`, 'a'.repeat(53)],
  ['ab '.repeat(42), 'ab-'.repeat(18).slice(0, -1)],
  ['日本語', 'agent'],
])('a deployment named %s gets the valid host label %s', (name, slug) => {
  const host = hostIn({ ...deployment, name }, { ingressDomain: 'example.com' })
  expect(host).toBe(`${slug}-0b0e3f8e.example.com`)
  expect(host.split('.')[0]).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/)
})

test.each([
  ['agent', undefined],
  ['registry:5000/team/agent', undefined],
  ['agent:1.2.3', '1.2.3'],
  ['registry:5000/team/agent:v1', 'v1'],
  ['agent@sha256:abc', 'sha256:abc'],
  ['registry:5000/agent:v1@sha256:abc', 'v1'],
  ['registry:5000/agent@sha256:abc', 'sha256:abc'],
])('the image %s has the version %s', (image, version) => {
  expect(imageVersion(image)).toBe(version)
})
