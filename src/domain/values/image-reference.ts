/** Parses `[host[:port]/]path[:tag][@sha256:digest]`, by the grammar of github.com/distribution/reference. */

export interface ImageReference {
  /** the registry, with its port if given; null: the engine's default registry */
  host: string | null
  path: string
  tag: string | null
  /** `sha256:<64 hex>` */
  digest: string | null
}

const MAX_NAME = 255
const COMPONENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?'
const HOST = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*|\\[[A-Fa-f0-9:]+\\])(?::(\\d{1,5}))?$`)

/** Returns the parsed reference, or a sentence that says why the text is invalid. */
export function parseImageReference(text: string): ImageReference | string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (text === '' || /[\s\u0000-\u001f\u007f]/.test(text)) return 'Must not be empty or contain whitespace.'
  if (text.includes('://')) return 'Must be without a scheme: registry/repository:tag.'
  const at = text.indexOf('@')
  const digest = at < 0 ? null : text.slice(at + 1)
  if (digest?.includes('/')) return 'Must not contain credentials.'
  if (digest !== null && !/^sha256:[a-f0-9]{64}$/.test(digest))
    return 'The digest (after @) must be sha256: and 64 hexadecimal digits in lower case.'
  const tagged = at < 0 ? text : text.slice(0, at)
  const colon = tagged.indexOf(':', tagged.lastIndexOf('/') + 1)
  const tag = colon < 0 ? null : tagged.slice(colon + 1)
  if (tag !== null && !/^\w[\w.-]{0,127}$/.test(tag))
    return 'The tag (after the last colon) must be at most 128 letters, digits, _, . and -, and not begin with . or -.'
  const name = colon < 0 ? tagged : tagged.slice(0, colon)
  const { host, path } = splitName(name)
  return hostFault(host) ?? pathFault(path) ?? nameFault(name) ?? { host, path, tag, digest }
}

/** The part before the first slash is a registry only if it looks like a host. Otherwise it belongs to the path. */
function splitName(name: string): { host: string | null; path: string } {
  const slash = name.indexOf('/')
  const first = name.slice(0, Math.max(slash, 0))
  return first === 'localhost' || /[.:[]/.test(first)
    ? { host: first, path: name.slice(slash + 1) }
    : { host: null, path: name }
}

function hostFault(host: string | null): string | null {
  if (host === null) return null
  const port = HOST.exec(host)
  if (!port) return 'The registry (before the first slash) must be a host name or address, with a port if it needs one.'
  return port[1] !== undefined && (Number(port[1]) < 1 || Number(port[1]) > 65_535)
    ? 'The port of the registry must be a number from 1 to 65535.'
    : null
}

function pathFault(path: string): string | null {
  if (path === '') return 'Must name a repository: registry/repository:tag.'
  if (/[A-Z]/.test(path)) return 'The repository must be in lower case.'
  return isRepositoryPath(path)
    ? null
    : 'Each part of the repository must be lower-case letters and digits, with single . or _, __ or - between them.'
}

/** Whether this is a valid repository name: no component is empty, `.` or `..`. */
export function isRepositoryPath(path: string): boolean {
  return path.split('/').every((component) => COMPONENT.test(component))
}

function nameFault(name: string): string | null {
  if (name.length > MAX_NAME) return `Registry and repository must be at most ${MAX_NAME} characters.`
  // container engines read such a name as the id of a local image
  return /^[a-f0-9]{64}$/.test(name) ? 'Must be a name, not the id of an image.' : null
}
