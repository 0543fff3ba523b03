class Kvshoot < Formula
  desc "Create Kubernetes clusters from KubeVirt virtual machines"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "Apache-2.0"

  depends_on :linux

  on_linux do
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/kvshoot-v@VERSION@-linux-x86_64.tar.gz"
      sha256 "@SHA256_X86_64@"
    end
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/kvshoot-v@VERSION@-linux-aarch64.tar.gz"
      sha256 "@SHA256_AARCH64@"
    end
  end

  def install
    bin.install "kvshoot"
    man1.install Dir["man/*.1"]
    man7.install Dir["man/*.7"]
    generate_completions_from_executable(bin/"kvshoot", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kvshoot version")
  end
end
