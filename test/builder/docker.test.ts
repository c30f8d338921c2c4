// docker's arguments, and the error without its plugin, tested with a shell script in place of docker: no daemon runs
// here.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claimOf, memoryLog, never } from '../dataplane/support.ts'
import { standInEngine } from '../support/engine/engine.ts'
import { type ImageBuilderFixture, openImageBuilder } from './image-builder.ts'

const DIGEST = `sha256:${'5'.repeat(64)}`
/**
 * Writes a docker script that has buildx if the plugin is in its configuration folder, and works if the context names
 * the daemon.
 */
const DOCKER = `#!/bin/sh
folder=$HOME/.docker
if [ "$1" = --config ]; then folder=$2; shift 2; fi
if [ "$1" = info ]; then echo 'works 28.2.2 cpu memory pids in:/var/lib/docker'; exit; fi
[ "$1" = buildx ] && [ -e "$folder/cli-plugins/docker-buildx" ] || { echo 'docker: unknown command: docker buildx' >&2; exit 1; }
case $2 in
  version) echo 'github.com/docker/buildx v0.30.0' ;;
  inspect) echo 'Driver: docker' ;;
  build)
    grep -q '"currentContext":"rootless"' "$folder/config.json" && [ -e "$folder/contexts/meta/rootless" ] || exit 2
    while [ $# -gt 0 ]; do
      [ "$1" = --metadata-file ] && echo '{"containerimage.digest": "${DIGEST}"}' > "$2"
      shift
    done ;;
esac
`

let fixture: ImageBuilderFixture
let home: string
beforeAll(async () => {
  fixture = await openImageBuilder(async (folder) => standInEngine(folder))
  home = path.join(fixture.root, 'home')
  fs.mkdirSync(path.join(home, 'bin'), { recursive: true })
  fs.writeFileSync(path.join(home, 'bin/docker'), DOCKER, { mode: 0o755 })
})
afterAll(() => fixture?.close())

const builds = () => fixture.open({ engine: 'docker', env: { PATH: `${home}/bin:/usr/bin:/bin`, HOME: home } })
const step = () => fixture.step({ Dockerfile: 'FROM scratch\n' })

test('a build with a docker that lacks buildx fails immediately and names what to install', async () => {
  await expect(builds().build(claimOf(), step(), memoryLog(), never)).rejects.toMatchObject({
    reason: 'NO_BUILDER',
    message: expect.stringMatching(/docker has no buildx: install .*docker-buildx-plugin/),
  })
})

test('docker builds with the plugins and the context of the operator, and pushes', async () => {
  const settings = path.join(home, '.docker')
  for (const folder of ['cli-plugins', 'contexts/meta/rootless'])
    fs.mkdirSync(path.join(settings, folder), { recursive: true })
  fs.writeFileSync(path.join(settings, 'cli-plugins/docker-buildx'), '')
  fs.writeFileSync(path.join(settings, 'config.json'), '{"currentContext":"rootless"}')
  const { artifact } = await builds().build(claimOf(), step(), memoryLog(), never)
  expect(artifact).toMatch(/^image:127\.0\.0\.1:\d+\/.+@sha256:5{64}$/)
  // only our links were removed
  expect(fs.existsSync(path.join(settings, 'contexts/meta/rootless'))).toBe(true)
})
