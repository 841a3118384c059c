#!/usr/bin/env bash
# install-packages.sh NAME|FILE...: installs the Debian packages named (or listed in the files) that are missing.
# Does nothing, quickly, when all are there.
set -euo pipefail

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

wanted=()
for argument in "$@"; do
  if [[ -f $argument ]]; then
    mapfile -t listed < <(grep -Ev '^[[:space:]]*(#|$)' "$argument")
    wanted+=("${listed[@]}")
  else
    wanted+=("$argument")
  fi
done

command -v dpkg-query >/dev/null || fail "this is not a Debian system; install by hand what these stand for: ${wanted[*]}"

is_installed() {
  [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

missing=()
for package in "${wanted[@]}"; do
  is_installed "$package" || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

if [[ $(id -u) -eq 0 ]]; then
  as_root=(env)
elif command -v sudo >/dev/null; then
  # Without a terminal nobody can type a password: fail at once instead of waiting for one.
  if [[ -t 0 ]]; then as_root=(sudo env); else as_root=(sudo -n env); fi
else
  fail "these packages are missing and need root (or sudo) to install: ${missing[*]}"
fi
apt_get=("${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0)

has_candidate() {
  local candidate
  candidate=$(LC_ALL=C apt-cache policy "$1" | sed -n 's/^ *Candidate: //p')
  [[ -n $candidate && $candidate != "(none)" ]]
}

all_known() {
  for package in "${missing[@]}"; do
    has_candidate "$package" || return 1
  done
}

install_missing() {
  "${apt_get[@]}" install --yes --no-install-recommends "${missing[@]}" </dev/null
}

echo "setup: installing ${missing[*]}"
updated=no
if ! all_known; then
  "${apt_get[@]}" update </dev/null || fail "apt-get update failed"
  updated=yes
fi
for package in "${missing[@]}"; do
  has_candidate "$package" || fail "apt knows no package '$package'; Debian 12 with its security updates has it"
done
if ! install_missing; then
  # Old lists name versions that the archive no longer keeps.
  [[ $updated == no ]] || fail "apt-get could not install ${missing[*]}"
  echo "setup: trying once more with fresh package lists"
  "${apt_get[@]}" update </dev/null || fail "apt-get update failed"
  install_missing || fail "apt-get could not install ${missing[*]}"
fi
