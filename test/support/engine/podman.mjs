// A stand-in for podman on machines without it. It knows only the commands and flags that we use and fails at any
// other. Images are commands of this machine; containers are processes that outlive their client, like a real
// engine's. State is below CONTAINER_STAND_IN: images/<name>.json, containers/<name>.json.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { build } from './build.mjs'

const root = process.env.CONTAINER_STAND_IN
const file = (kind, name) => path.join(root, kind, `${encodeURIComponent(name)}.json`)
const read = (kind, name) => {
  try {
    return JSON.parse(fs.readFileSync(file(kind, name), 'utf8'))
  } catch {
    return null
  }
}
const fail = (message, code = 125) => {
  console.error(`Error: ${message}`)
  process.exit(code)
}
const text = { type: 'string' }
const texts = { type: 'string', multiple: true }
const flag = { type: 'boolean' }

/** Everything from the first non-flag word on belongs to the image, as in podman. */
function parse(args, options) {
  const rewritten = args.map((arg) => (arg === '--http-proxy=false' ? '--no-http-proxy' : arg))
  try {
    return parseArgs({ args: rewritten, options, allowPositionals: true })
  } catch (error) {
    return fail(`unknown flag: ${error.message}`)
  }
}

const authOf = (authfile, registry) =>
  authfile ? JSON.parse(fs.readFileSync(authfile, 'utf8')).auths[registry]?.auth : undefined

/** The names of an image, except its id. */
function namesOf(id) {
  const entries = fs
    .readdirSync(path.join(root, 'images'))
    .map((entry) => decodeURIComponent(entry.replace(/\.json$/, '')))
  return entries.filter((name) => name !== id && read('images', name)?.id === id)
}

const only = (given, expected, what) => given === expected || fail(`${what} ${given} is not known here`)

const commands = {
  info(args) {
    const { values } = parse(args, { format: text })
    only(values.format, 'works {{.Version.Version}} {{.Host.CgroupControllers}} in:{{.Store.GraphRoot}}', 'template')
    console.log(`works 4.3.1 [cpu memory pids] in:${root}`)
  },

  async pull(args) {
    const { values, positionals } = parse(args, { authfile: text, 'tls-verify': text })
    const [image] = positionals
    const [, registry, repository, tag] =
      /^([^/]+)\/([^@]+)[:@](sha256:[0-9a-f]{64}|[^:/]+)$/.exec(image) ?? fail(`invalid reference ${image}`)
    const auth = authOf(values.authfile, registry)
    console.error(`Trying to pull ${image}...`)
    const source = `initializing source docker://${image}:`
    const url = `http://${registry}/v2/${repository}/manifests/${tag}`
    const answer = await fetch(url, { headers: auth ? { authorization: `Basic ${auth}` } : {} }).catch((error) =>
      fail(
        `${source} pinging container registry ${registry}: ${error.cause?.message ?? error.message}: connection refused`,
      ),
    )
    if (answer.status === 401) fail(`${source} unable to retrieve auth token: invalid username/password: unauthorized`)
    if (answer.status === 404) fail(`${source} reading manifest ${tag} in ${registry}/${repository}: manifest unknown`)
    const stored = await answer.json()
    if (image.includes('@')) stored.digests = [image]
    for (const name of [image, stored.id]) fs.writeFileSync(file('images', name), JSON.stringify(stored))
    console.log(stored.id)
  },

  image([verb, ...args]) {
    only(verb, 'inspect', 'command image')
    const { values, positionals } = parse(args, { format: text })
    const image = read('images', positionals[0]) ?? fail(`inspecting object: ${positionals[0]}: image not known`)
    if (values.format === 'names {{json .RepoTags}} {{json .RepoDigests}}')
      return console.log(`names ${JSON.stringify(namesOf(image.id))} ${JSON.stringify(image.digests)}`)
    only(values.format, 'image {{.Id}} {{json .RepoDigests}}', 'template')
    console.log(`image ${image.id} ${JSON.stringify(image.digests)}`)
  },

  async build(args) {
    const { values, positionals } = parse(args, {
      file: text,
      label: texts,
      secret: texts,
      tag: text,
      iidfile: text,
      format: text,
      ignorefile: text,
      authfile: text,
      'tls-verify': text,
      'cache-from': text,
      'cache-to': text,
    })
    only(values.format, 'docker', '--format')
    // pulls an image of a registry unless it is present, as podman does
    const find = async (name) => {
      if (!read('images', name) && /^[\d.]+:\d+\//.test(name)) await commands.pull([name])
      return read('images', name)
    }
    // podman writes this in two steps; a kill in between leaves it without images of these labels
    const begun = (image) => fs.writeFileSync(file('images', image.id), JSON.stringify({ ...image, half: true }))
    const image = await build(root, values, positionals, find, begun).catch((error) => fail(error.message))
    for (const name of [values.tag, image.id]) fs.writeFileSync(file('images', name), JSON.stringify(image))
    fs.writeFileSync(values.iidfile, `sha256:${image.id}`)
  },

  async push(args) {
    const { values, positionals } = parse(args, { authfile: text, 'tls-verify': text, digestfile: text })
    const [name, target] = positionals
    const image = read('images', name) ?? fail(`${name}: image not known`)
    const [, registry, repository, tag] =
      /^docker:\/\/([^/]+)\/(.+):([^:/]+)$/.exec(target) ?? fail(`invalid ${target}`)
    const auth = authOf(values.authfile, registry)
    console.error(`Copying config sha256:${image.id}`)
    const answer = await fetch(`http://${registry}/v2/${repository}/manifests/${tag}`, {
      method: 'PUT',
      body: JSON.stringify({ ...image, digests: [] }),
      headers: auth ? { authorization: `Basic ${auth}` } : {},
    })
    if (!answer.ok) fail(`writing manifest: ${answer.status} unauthorized`)
    // like podman before 4.6 with an engine elsewhere
    if (!process.env.CONTAINER_HOST) fs.writeFileSync(values.digestfile, answer.headers.get('docker-content-digest'))
  },

  images(args) {
    const { values } = parse(args, { 'no-trunc': flag, filter: texts, format: text })
    const [kind, wanted] = /^(label|reference)=(.+)$/.exec(values.filter[0]).slice(1)
    for (const entry of fs.readdirSync(path.join(root, 'images'))) {
      const name = decodeURIComponent(entry.replace(/\.json$/, ''))
      const image = read('images', name)
      if (kind === 'label' && image.labels?.includes(wanted) && name === image.id) {
        if (image.half)
          fail(
            `locating item named "manifest" for image with ID "${name}" (consider removing the image): file does not exist`,
          )
        console.log(`image sha256:${name}`)
      }
      if (kind === 'reference' && name.startsWith(`${wanted}:`)) console.log(`image ${name}`)
    }
  },

  rmi(args) {
    const { positionals } = parse(args, { force: flag })
    for (const name of positionals) {
      const image = read('images', name) ?? fail(`${name}: image not known`, 1)
      fs.rmSync(file('images', name), { force: true })
      if (namesOf(image.id).length === 0) fs.rmSync(file('images', image.id), { force: true })
    }
  },

  run(args) {
    const { values, positionals } = parse(args, {
      rm: flag,
      name: text,
      label: texts,
      pull: text,
      network: text,
      'log-driver': text,
      'stop-timeout': text,
      'security-opt': text,
      'no-http-proxy': flag,
      cpus: text,
      memory: text,
      'pids-limit': text,
      'env-file': text,
      env: texts,
    })
    only(values.pull, 'never', '--pull')
    only(values.network, 'host', '--network')
    only(values['log-driver'], 'none', '--log-driver')
    only(values['security-opt'], 'no-new-privileges', '--security-opt')
    const image = read('images', positionals[0]) ?? fail(`${positionals[0]}: image not known`)
    if (read('containers', values.name)) fail(`the container name "${values.name}" is already in use`)
    const lines = fs.readFileSync(values['env-file'], 'utf8').split(/\r?\n/)
    const given = lines
      .filter((line) => line && !line.startsWith('#'))
      .map((line) => /^([^=]*)=(.*)$/s.exec(line).slice(1))
    const copied = values.env.filter((name) => name in process.env).map((name) => [name, process.env[name]])
    const [program, ...rest] = [...image.command, ...positionals.slice(1)]
    const cwd = image.cwd ?? '/'
    const child = spawn(program, rest, {
      cwd,
      env: { ...image.env, ...Object.fromEntries([...given, ...copied]) },
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    fs.writeFileSync(file('containers', values.name), JSON.stringify({ pid: child.pid, labels: values.label }))
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    child.on('exit', (code, signal) => {
      if (values.rm) fs.rmSync(file('containers', values.name), { force: true })
      process.exit(code ?? (signal === 'SIGKILL' ? 137 : 143))
    })
  },

  ps(args) {
    const { values } = parse(args, { all: flag, filter: texts, format: text })
    only(values.format, '{{.Names}}', 'template')
    for (const entry of fs.readdirSync(path.join(root, 'containers'))) {
      const name = decodeURIComponent(entry.replace(/\.json$/, ''))
      const labels = read('containers', name)?.labels.map((label) => `label=${label}`) ?? []
      if ((values.filter ?? []).every((filter) => labels.includes(filter))) console.log(name)
    }
  },

  rm(args) {
    const { values, positionals } = parse(args, { force: flag })
    if (!values.force) fail('without --force not known here')
    for (const name of positionals) {
      const container = read('containers', name)
      if (!container) {
        fs.rmSync(path.join(root, 'overlay-containers', name), { recursive: true, force: true })
        continue
      }
      try {
        process.kill(-container.pid, 'SIGKILL')
      } catch {
        // the process has ended by itself
      }
      fs.rmSync(file('containers', name), { force: true })
      console.log(name)
    }
  },
}

const [command, ...args] = process.argv.slice(2)
const known = commands[command] ?? fail(`unrecognized command \`podman ${command}\``)
await known(args)
