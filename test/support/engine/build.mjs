// Builds an image from a Dockerfile for the podman stand-in: it supports few instructions and fails at any other. RUN
// in its shell form runs on this machine, in the image's folder, with `/run/secrets/` mapped to the secrets; the JSON
// form is skipped.
import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'

/** Returns the image. `find`: an image by its name. `begun`: called with an incomplete image. */
export async function build(root, values, [context], find, begun) {
  const id = randomUUID()
  const working = path.join(root, 'overlay-containers', id, 'userdata')
  const tree = path.join(root, 'trees', id)
  fs.mkdirSync(working, { recursive: true })
  fs.mkdirSync(tree, { recursive: true })
  // buildah records its options here too; they stay when the build is killed
  fs.writeFileSync(path.join(working, 'buildah.json'), JSON.stringify({ CommonBuildOpts: { Secrets: values.secret } }))
  const secrets = path.join(working, 'secrets')
  fs.mkdirSync(secrets)
  for (const secret of values.secret) {
    const [, name, source] = /^id=([^,]+),src=(.+)$/.exec(secret)
    if ((fs.statSync(source).mode & 0o077) !== 0) throw new Error(`others can read ${source}`)
    fs.copyFileSync(source, path.join(secrets, name))
  }
  const image = { digests: [], labels: values.label, command: [], env: { PATH: process.env.PATH }, cwd: tree }
  const text = fs.readFileSync(values.file, 'utf8')
  try {
    for (const line of text.split('\n').filter((each) => each && !each.startsWith('#'))) await instruction(line)
    return await commit()
  } finally {
    fs.rmSync(path.dirname(working), { recursive: true, force: true })
  }

  async function commit() {
    image.id = createHash('sha256')
      .update(JSON.stringify([image, text, id]))
      .digest('hex')
    begun(image)
    console.log(`COMMIT ${values.tag}`)
    // packed, as the real engine does
    for (const entry of fs.readdirSync(tree, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) for await (const _ of fs.createReadStream(path.join(entry.parentPath, entry.name)));
    return image
  }

  async function instruction(line) {
    console.log(`STEP ${line}`)
    const [, word, rest] = /^(\w+) (.*)$/s.exec(line)
    if (word === 'FROM') {
      const base = await find(rest)
      if (!base) throw new Error(`creating build container: ${rest}: image not known`)
      Object.assign(image, { command: base.command, env: { ...base.env } })
    } else if (word === 'COPY') copy(rest)
    else if (word === 'RUN') await run(rest)
    else if (word === 'CMD') image.command = JSON.parse(rest)
    else if (word === 'ENV') image.env[rest.split('=')[0]] = rest.slice(rest.indexOf('=') + 1)
    else if (!['USER', 'WORKDIR'].includes(word)) throw new Error(`unknown instruction ${word}`)
  }

  function copy(rest) {
    const words = rest.replace(/^--chown=\S+ /, '')
    const names = words.startsWith('[') ? JSON.parse(words) : words.split(' ')
    const to = path.join(tree, names.pop())
    for (const name of names) {
      const from = path.join(context, name)
      const folder = fs.statSync(from).isDirectory()
      fs.cpSync(from, folder ? to : path.join(to, path.basename(name)), { recursive: true })
    }
  }

  async function run(rest) {
    const script = rest.replace(/^(--mount=\S+ )*/, '')
    if (script.startsWith('[')) return
    const child = spawn('/bin/sh', ['-c', script.replaceAll('/run/secrets/', `${secrets}/`)], {
      cwd: tree,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`building at STEP "RUN ${rest}": exit status ${code}`)
  }
}
